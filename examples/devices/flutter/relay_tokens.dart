/// What a finished app adds to relay_sign_in.dart: tokens that are kept and refreshed when that is due, another link
/// for one that has expired, and cancelling.
///
///     const storage = FlutterSecureStorage();
///     final relay = RelayTokens(
///       RelaySignIn('https://relay.example', 'mal'),
///       read: () => storage.read(key: 'tokens'),
///       write: (text) => storage.write(key: 'tokens', value: text),
///     );
///     try {
///       final tokens = await relay.tokens('Living room', onStarted: …);
///     } on SignInFailure catch (failure) {
///       show(failure.code);
///     }
///     relay.cancel(); // on Back, and in dispose()
library;

import 'dart:async';
import 'dart:convert';
import 'dart:math';

import 'relay_sign_in.dart';

const _links = 3; // A link that has expired is replaced, but not for ever on a forgotten screen.
const _early = Duration(minutes: 1); // Before it expires, or half of a shorter life, so that none expires on its way.

class SavedTokens extends Tokens {
  SavedTokens(this.json) : super.fromJson(json);

  final Map<String, dynamic> json;

  /// Milliseconds since 1970; null if the provider gave no lifetime: then it is used until the API answers 401.
  int? get expiresAt => json['expiresAt'] as int?;

  bool get isDue {
    final (expiresAt, expiresIn) = (this.expiresAt, this.expiresIn);
    if (expiresAt == null || expiresIn == null) return false;
    final leftMs = expiresAt - DateTime.now().millisecondsSinceEpoch;
    // More left than there ever was: the clock was set back since, and says nothing about the token.
    return leftMs < min(_early.inMilliseconds, expiresIn * 500) || leftMs > expiresIn * 1000;
  }
}

/// If there is no new refresh token, the old one stays.
SavedTokens _savedFrom(Tokens tokens, {String? oldRefreshToken}) {
  final seconds = tokens.expiresIn;
  return SavedTokens({
    'accessToken': tokens.accessToken,
    'refreshToken': tokens.refreshToken ?? oldRefreshToken,
    'expiresIn': seconds,
    'expiresAt': seconds == null ? null : DateTime.now().millisecondsSinceEpoch + seconds * 1000,
  });
}

/// One for the whole app.
class RelayTokens {
  RelayTokens(this.signIn, {required this.read, required this.write});

  final RelaySignIn signIn;
  final Future<String?> Function() read;
  final Future<void> Function(String) write;

  Started? _shown;
  int _cancels = 0; // Not a flag: the next sign-in may begin before the cancelled one has noticed.
  Future<void> _obtained = Future.value();
  Future<SavedTokens>? _refreshing;
  SavedTokens? _unsaved; // What could not be saved: the app goes on with it, and each call tries to save it.

  /// Those that are saved, if need be refreshed, or those of a new sign-in. One call shows a link while the others wait.
  Future<SavedTokens> tokens(String device, {required void Function(Started) onStarted}) {
    final cancels = _cancels;
    final tokens = _obtained.then((_) => _obtain(device, onStarted, () => _cancels != cancels));
    _obtained = tokens.then((_) {}, onError: (_) {});
    return tokens;
  }

  Future<SavedTokens> _obtain(
    String device,
    void Function(Started) onStarted,
    bool Function() isCancelled,
  ) async {
    final saved = await _load();
    if (saved != null && !saved.isDue) return saved;
    if (saved != null) {
      try {
        return await refresh(saved.accessToken);
      } on SignInFailure catch (failure) {
        if (failure.code != 'invalid_grant') rethrow;
      }
    }
    return _newTokens(device, onStarted, isCancelled);
  }

  /// Also when the provider's API answers 401. One request refreshes while the others wait.
  Future<SavedTokens> refresh(String rejectedToken) =>
      _refreshing ??= _refresh(rejectedToken).whenComplete(() => _refreshing = null);

  Future<SavedTokens> _refresh(String rejectedToken) async {
    final saved = await _load();
    if (saved != null && saved.accessToken != rejectedToken) return saved;
    final refreshToken = saved?.refreshToken;
    try {
      if (refreshToken == null) throw SignInFailure('invalid_grant');
      final fresh = await signIn.refresh(refreshToken);
      return await _save(_savedFrom(fresh, oldRefreshToken: refreshToken));
    } on SignInFailure catch (failure) {
      // Otherwise `tokens` would return them again, since they need not be due.
      if (failure.code == 'invalid_grant') {
        _unsaved = null;
        await write('{}').catchError((_) {});
      }
      rethrow;
    }
  }

  Future<void> cancel() async {
    _cancels++;
    _obtained = Future.value(); // The next sign-in waits for no cancelled one.
    final shown = _shown;
    if (shown != null) await signIn.cancel(shown);
  }

  Future<SavedTokens> _newTokens(
    String device,
    void Function(Started) onStarted,
    bool Function() isCancelled,
  ) async {
    for (var link = 0; link < _links; link++) {
      final started = await signIn.start(device);
      if (isCancelled()) {
        unawaited(signIn.cancel(started)); // Back was pressed before the link was there.
        throw SignInFailure('cancelled');
      }
      _shown = started;
      onStarted(started);
      try {
        final saved = await _save(_savedFrom(await signIn.waitForTokens(started, isCancelled)));
        unawaited(signIn.acknowledge(started)); // The user need not wait for it.
        return saved;
      } on SignInFailure catch (failure) {
        if (failure.code != 'expired') rethrow;
      } finally {
        if (_shown == started) _shown = null;
      }
    }
    throw SignInFailure('expired');
  }

  Future<SavedTokens> _save(SavedTokens tokens) async {
    _unsaved = tokens;
    try {
      await write(jsonEncode(tokens.json));
    } on Object catch (error) {
      throw SignInFailure('not_saved', '$error'); // The storage has errors of its own.
    }
    _unsaved = null;
    return tokens;
  }

  Future<SavedTokens?> _load() async {
    if (_unsaved case final unsaved?) {
      await _save(unsaved).then<void>((_) {}, onError: (_) {}); // If it fails again, the app goes on.
      return unsaved;
    }
    try {
      return SavedTokens(jsonDecode(await read() ?? '{}') as Map<String, dynamic>);
    } on Object {
      return null; // There are none, or what is there is broken.
    }
  }
}
