/** The demo provider's pages: what a person sees between the link and the way back. */

const STYLE = `
:root{color-scheme:light dark;--page:#e0e7ff;--card:#fff;--text:#1e1b4b;--quiet:#4338ca;--button:#4338ca;--on-button:#fff}
@media (prefers-color-scheme:dark){:root{--page:#0f0d24;--card:#1e1b4b;--text:#eef2ff;--quiet:#c7d2fe;--button:#c7d2fe;--on-button:#1e1b4b}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;background:var(--page);color:var(--text);font:1.0625rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:24rem;padding:1.75rem 1.5rem;border-radius:1rem;background:var(--card)}
h1{margin:0 0 .25rem;font-size:1.5rem;line-height:1.25}
p{margin:0 0 1rem;color:var(--quiet)}
label{display:block;margin-bottom:.75rem}
input{width:100%;padding:.625rem;border:1px solid currentColor;border-radius:.5rem;background:none;color:inherit;font:inherit}
button{width:100%;margin-top:.5rem;padding:.75rem;border:1px solid var(--button);border-radius:.5rem;background:none;color:inherit;font:inherit;cursor:pointer}
button[value=allow]{background:var(--button);color:var(--on-button)}
`.trim();

/** Asks for a name and password, or, when the person is known already, only for consent. */
export function signInPage(appName: string, signedInAs: string | undefined): string {
  const fields =
    signedInAs === undefined
      ? `<label>Name <input name="name" autocomplete="off" required autofocus></label>
         <label>Password <input name="password" type="password" autocomplete="off" required></label>`
      : `<p>You are signed in as <b>${escapeHtml(signedInAs)}</b>.</p>`;
  const allow = signedInAs === undefined ? 'Sign in' : 'Continue';
  return page(
    'Demo provider',
    `<p>Sign in to let <b>${escapeHtml(appName)}</b> know your name. Any name and password will do.</p>
     <form method="post">
       ${fields}
       <button name="answer" value="allow">${allow}</button>
       <button name="answer" value="deny" formnovalidate>Cancel</button>
     </form>`,
  );
}

export function messagePage(message: string): string {
  return page('Demo provider', `<p>${escapeHtml(message)}</p>`);
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body><main><h1>${escapeHtml(title)}</h1>${body}</main></body>
</html>`;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
