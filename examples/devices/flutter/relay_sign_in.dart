/// Signs a user in through a Sign-in Relay: start, show it, waitForTokens, save them, acknowledge.
/// Dart 3 and package:http. What a finished app adds is in relay_tokens.dart.
library;

import 'dart:convert';
import 'dart:math';

import 'package:http/http.dart' as http;

const _wait = Duration(seconds: 25); // The relay holds a poll this long. Some proxies cut a request after 30 s.
const _maxBytes = 65536; // More than any response of a relay: one that never ends fills no memory.
const _tries = 6; // Only a poll is repeated until the link expires.

/// Show [link], [userCode], and Image.network([qr], filterQuality: FilterQuality.none).
class Started {
  Started.fromJson(Map<String, dynamic> json)
      : session = json['session'] as String,
        link = json['link'] as String,
        userCode = json['userCode'] as String,
        qr = json['qr'] as String,
        expiresIn = Duration(seconds: json['expiresIn'] as int);

  /// A secret of this device: never show it, log it or put it into a link.
  final String session;
  final String link;
  final String userCode;
  final String qr;
  final Duration expiresIn;
}

class Tokens {
  Tokens.fromJson(Map<String, dynamic> json)
      : accessToken = json['accessToken'] as String,
        refreshToken = json['refreshToken'] as String?,
        expiresIn = json['expiresIn'] as int?;

  final String accessToken;
  final String? refreshToken;
  final int? expiresIn; // Seconds.
}

class RelaySignIn {
  RelaySignIn(this.relay, this.service);

  final String relay;
  final String service;
  final _http = http.Client();

  Future<Started> start(String device) async {
    final body = {'service': service, 'code': true, 'ack': true, 'device': device};
    final reply = await _retry('/auth/start', body);
    return reply.json.containsKey('link') ? Started.fromJson(reply.json) : throw reply.failure;
  }

  /// [isCancelled] has to be true before [cancel], which ends the poll.
  Future<Tokens> waitForTokens(Started started, bool Function() isCancelled) async {
    // Not by the clock, which may not be set yet. After a sleep the relay says whether the link has expired.
    final age = Stopwatch()..start();
    while (age.elapsed < started.expiresIn && !isCancelled()) {
      final reply = await _ask('/auth/result?session=${started.session}&wait=${_wait.inSeconds}');
      if (reply.json.containsKey('accessToken')) return Tokens.fromJson(reply.json);
      if (reply.status == 410) break;
      if (reply.status == 400 || reply.status == 200 && reply.json.containsKey('error')) throw reply.failure;
      await Future<void>.delayed(reply.pause); // Not yet; or 429, 5xx, a page of a proxy, no network.
    }
    throw SignInFailure(isCancelled() ? 'cancelled' : 'expired');
  }

  /// Once they are saved, and never before. If it fails, the relay forgets them after 60 s.
  Future<void> acknowledge(Started started) => _retry('/auth/result?session=${started.session}&ack=1');

  /// The link then says that the device cancelled the sign-in.
  Future<void> cancel(Started started) => _retry('/auth/result?session=${started.session}&cancel=1');

  /// unreachable: keep the old tokens and try later. invalid_grant: sign in again.
  Future<Tokens> refresh(String refreshToken) async {
    final reply = await _retry('/refresh', {'service': service, 'refreshToken': refreshToken});
    return reply.json.containsKey('accessToken') ? Tokens.fromJson(reply.json) : throw reply.failure;
  }

  /// Repeats a request that failed for a while.
  Future<_Reply> _retry(String path, [Map<String, Object>? body]) async {
    var reply = await _ask(path, body);
    for (var tried = 1; tried < _tries && reply.isTransient; tried++) {
      await Future<void>.delayed(reply.pause);
      reply = await _ask(path, body);
    }
    return reply;
  }

  Future<_Reply> _ask(String path, [Map<String, Object>? body]) async {
    final request = http.Request(body == null ? 'GET' : 'POST', Uri.parse('$relay$path'));
    request.followRedirects = false; // One could lead tokens to another server, and a captive portal's may pass.
    if (body != null) {
      request.headers['Content-Type'] = 'application/json';
      request.body = jsonEncode(body);
    }
    try {
      // package:http has no timeout: a socket that died while the device slept would hang.
      return await _receive(request).timeout(_wait + const Duration(seconds: 15));
    } on Exception {
      // SocketException, ClientException (a response cut off), TimeoutException, HandshakeException.
      return _Reply(0, relay, 0);
    }
  }

  Future<_Reply> _receive(http.Request request) async {
    final response = await _http.send(request);
    final bytes = <int>[];
    await for (final part in response.stream) {
      bytes.addAll(part);
      if (bytes.length > _maxBytes) throw http.ClientException('too much');
    }
    final text = utf8.decode(bytes, allowMalformed: true).trim();
    return _Reply(response.statusCode, text, int.tryParse(response.headers['retry-after'] ?? '') ?? 0);
  }
}

class _Reply {
  _Reply(this.status, this.text, this.retryAfterSeconds);

  final int status; // 0: no complete response.
  final String text;
  final int retryAfterSeconds;

  /// Empty for what is no JSON object, such as a page of a proxy.
  late final Map<String, dynamic> json = _parse();

  Map<String, dynamic> _parse() {
    try {
      final parsed = jsonDecode(text);
      return parsed is Map<String, dynamic> ? parsed : const {};
    } on FormatException {
      return const {};
    }
  }

  /// At random, so that a thousand devices do not return at the same moment.
  Duration get pause => status == 204
      ? const Duration(seconds: 1)
      : Duration(seconds: retryAfterSeconds.clamp(0, 60), milliseconds: 1000 + Random().nextInt(2000));

  bool get isTransient =>
      status == 0 || status == 200 && json.isEmpty || status ~/ 100 == 3 || status == 429 || status >= 500;

  SignInFailure get failure {
    if (isTransient && status != 200) return SignInFailure('unreachable', text);
    if (json['error'] case final String error) return SignInFailure(error);
    if (status == 200) return SignInFailure('unreachable'); // Its text may hold tokens.
    return SignInFailure('refused', text);
  }
}

/// Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, cancelled, refused, unreachable, invalid_grant (refresh only: sign in again).
class SignInFailure implements Exception {
  SignInFailure(this.code, [this.detail = '']);

  final String code;
  final String detail;

  @override
  String toString() => detail.isEmpty ? code : '$code: $detail';
}
