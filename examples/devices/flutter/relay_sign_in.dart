/// Signs a user in through a Sign-in Relay. Dart 3; package:http, and in the app package:flutter_secure_storage.
///
///     final relay = RelaySignIn('https://relay.example', 'mal', read: …, write: …);
///     try {
///       final tokens = await relay.tokens(onPrompt: …, onCountdown: …);
///     } on SignInFailure catch (failure) {
///       show(failure.code);
///     }
///     relay.cancel(); // on Back
///
/// With flutter_secure_storage:
///     read: () => storage.read(key: 'tokens'), write: (text) => storage.write(key: 'tokens', value: text)
library;

import 'dart:async';
import 'dart:convert';
import 'dart:math';

import 'package:http/http.dart' as http;

const _waitSeconds = 25; // The relay holds a poll this long. Some proxies cut a request after 30 s.
const _tries = 6; // For a start, a refresh, an acknowledgement. A poll is repeated until the link expires.
const _links = 3; // A link that has expired is replaced, but not for ever on a forgotten screen.

/// Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, cancelled, refused, unreachable, invalid_grant (refresh only: sign in again).
class SignInFailure implements Exception {
  SignInFailure(this.code, [this.detail = '']);
  final String code;
  final String detail;
}

/// Show [link], [userCode] with [codeAddress], and Image.network(qr, filterQuality: FilterQuality.none).
typedef Prompt = ({String link, String userCode, String codeAddress, String qr});

typedef Tokens = Map<String, dynamic>; // accessToken, refreshToken, expiresIn

class _Reply {
  _Reply(this.status, this.body, this.text, this.pause);
  final int status; // 0: no complete response.
  final Map<String, dynamic>? body;
  final String text;
  final Duration pause;

  bool get isRefusal => status >= 400 && status < 500 && status != 429;
}

class RelaySignIn {
  RelaySignIn(this.relay, this.service, {required this.read, required this.write});

  final String relay;
  final String service;
  final Future<String?> Function() read;
  final Future<void> Function(String) write;

  String? _session; // Only for this device: never show it, log it or put it into a link.
  bool _isCancelled = false;

  /// Refreshes what is saved, or signs in.
  Future<Tokens> tokens({
    required void Function(Prompt) onPrompt,
    required void Function(int seconds) onCountdown,
  }) async {
    _isCancelled = false;
    final saved = _parse(await read() ?? '');
    if (saved?['refreshToken'] case final String refreshToken) {
      try {
        return await refresh(refreshToken);
      } on SignInFailure catch (failure) {
        if (failure.code != 'invalid_grant') rethrow;
      }
    }
    for (var link = 0; link < _links; link++) {
      final life = Stopwatch(); // The clock may not be set yet.
      final started = await _start();
      life.start();
      final lifetime = Duration(seconds: started['expiresIn'] as int);
      _session = started['session'] as String;
      onPrompt((
        link: started['link'] as String,
        userCode: started['userCode'] as String,
        codeAddress: '$relay/link',
        qr: started['qr'] as String,
      ));
      Duration left() => lifetime > life.elapsed ? lifetime - life.elapsed : Duration.zero;
      final countdown = Timer.periodic(const Duration(seconds: 1), (_) => onCountdown(left().inSeconds));
      try {
        final tokens = await _waitForTokens(left);
        await write(jsonEncode(tokens));
        await _tell('ack=1'); // If it fails, the relay forgets them after 60 s.
        return tokens;
      } on SignInFailure catch (failure) {
        if (failure.code != 'expired') rethrow;
      } finally {
        countdown.cancel();
      }
    }
    throw SignInFailure('expired');
  }

  /// The relay ends the poll, and the link says that the device cancelled the sign-in.
  Future<void> cancel() async {
    _isCancelled = true;
    if (_session != null) await _tell('cancel=1');
  }

  Future<Map<String, dynamic>> _start() => _retry(
        '/auth/start',
        {'service': service, 'code': true, 'ack': true, 'device': 'Living room'},
        (reply) => reply.status == 200 ? reply.body : null,
      );

  Future<Tokens> _waitForTokens(Duration Function() left) async {
    // After a sleep the next poll says whether the link is still valid: 410 if not.
    while (left() > Duration.zero && !_isCancelled) {
      final asked = Stopwatch()..start();
      final reply = await _askSession('wait=$_waitSeconds');
      final body = reply.body;
      if (reply.status == 200 && body != null) {
        if (body['error'] case final String error) throw SignInFailure(error);
        if (body['accessToken'] is String) return body;
      }
      if (reply.status == 410) break;
      if (reply.status == 400) throw SignInFailure('refused', reply.text);
      // 204: not yet. All else is transient: 429, 5xx, a page of a proxy, no network.
      var pause = reply.status == 204 ? const Duration(seconds: 1) - asked.elapsed : reply.pause;
      if (pause > left()) pause = left();
      await Future<void>.delayed(pause);
    }
    throw SignInFailure(_isCancelled ? 'cancelled' : 'expired');
  }

  /// unreachable: keep the old tokens and try later. invalid_grant: sign in again.
  Future<Tokens> refresh(String refreshToken) async {
    final tokens = await _retry('/refresh', {'service': service, 'refreshToken': refreshToken}, (reply) {
      if (reply.status == 400 && reply.body?['error'] is String) throw SignInFailure(reply.body!['error'] as String);
      return reply.status == 200 && reply.body?['accessToken'] is String ? reply.body : null;
    });
    tokens.putIfAbsent('refreshToken', () => refreshToken); // The old one stays.
    await write(jsonEncode(tokens));
    return tokens;
  }

  Future<Map<String, dynamic>> _retry(
    String path,
    Map<String, dynamic> body,
    Map<String, dynamic>? Function(_Reply) take,
  ) async {
    for (var tried = 0; tried < _tries; tried++) {
      if (_isCancelled) throw SignInFailure('cancelled');
      final reply = await _ask(path, body);
      final taken = take(reply);
      if (taken != null) return taken;
      if (reply.isRefusal) throw SignInFailure('refused', reply.text);
      await Future<void>.delayed(reply.pause);
    }
    throw SignInFailure('unreachable');
  }

  Future<void> _tell(String query) async {
    for (var tried = 0; tried < _tries; tried++) {
      final reply = await _askSession(query);
      if (const [204, 400, 410].contains(reply.status)) return;
      await Future<void>.delayed(reply.pause);
    }
  }

  Future<_Reply> _askSession(String query) =>
      _ask('/auth/result?session=${Uri.encodeQueryComponent(_session!)}&$query');

  Future<_Reply> _ask(String path, [Map<String, dynamic>? body]) async {
    // At random, so that a thousand devices do not return at the same moment.
    var pause = Duration(milliseconds: 1000 + Random().nextInt(2000));
    try {
      final url = Uri.parse('$relay$path');
      // package:http has no timeout: a socket that died while the device slept would hang.
      final response = await (body == null
              ? http.get(url)
              : http.post(url, headers: {'Content-Type': 'application/json'}, body: jsonEncode(body)))
          .timeout(const Duration(seconds: _waitSeconds + 15));
      final retryAfter = int.tryParse(response.headers['retry-after'] ?? '') ?? 0;
      pause += Duration(seconds: retryAfter.clamp(0, 60));
      final text = utf8.decode(response.bodyBytes, allowMalformed: true).trim();
      return _Reply(response.statusCode, _parse(text), text, pause);
    } on Exception {
      // SocketException, ClientException (a response cut off), TimeoutException, HandshakeException.
      return _Reply(0, null, '', pause);
    }
  }

  static Map<String, dynamic>? _parse(String text) {
    try {
      final parsed = jsonDecode(text);
      return parsed is Map<String, dynamic> ? parsed : null;
    } on FormatException {
      return null; // A page of a proxy.
    }
  }
}
