/// Signs a user in through a Sign-in Relay: start, show it, waitForTokens, save them, acknowledge.
/// Dart 3 and package:http. What a finished app adds is in relay_tokens.dart.
library;

import 'dart:convert';
import 'dart:math';

import 'package:http/http.dart' as http;

const _wait = Duration(seconds: 25); // The relay holds a poll this long. Some proxies cut a request after 30 s.
const _maxBytes = 65536; // More than any response of a relay: one that never ends fills no memory.
const _tries = 6; // Only a poll is repeated until the link expires.
const _timeout = Duration(seconds: 40); // A socket that died while the device slept would hang.
const _shortTimeout = Duration(seconds: 5); // To acknowledge and cancel: the relay forgets in 60 s.

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
    return Started.fromJson(await _askUntilAnswered('/auth/start', body, 'link'));
  }

  /// [isCancelled] has to be true before [cancel], which ends the poll.
  Future<Tokens> waitForTokens(Started started, bool Function() isCancelled) async {
    final age = Stopwatch()..start(); // Not by the clock, which may not be set yet.
    while (!isCancelled()) {
      final reply = await _ask('/auth/result?session=${started.session}&wait=${_wait.inSeconds}');
      if (reply.has('accessToken')) return Tokens.fromJson(reply.json);
      if (reply.has('error') || reply.status == 400) throw reply.refusal;
      // The relay decides when the link has expired. The time here ends only polls that fail.
      final isOver = reply.status == 410 || reply.status != 204 && age.elapsed > started.expiresIn;
      if (isOver) throw SignInFailure(isCancelled() ? 'cancelled' : 'expired');
      await Future<void>.delayed(reply.pause); // Not yet; or 429, 5xx, a page of a proxy, no network.
    }
    throw SignInFailure('cancelled');
  }

  /// Once they are saved, and never before. If it fails, the relay forgets them after 60 s.
  Future<void> acknowledge(Started started) => _tell(started, 'ack');

  /// The link then says that the device cancelled the sign-in.
  Future<void> cancel(Started started) => _tell(started, 'cancel');

  Future<void> _tell(Started started, String what) async {
    for (var tried = 0; tried < _tries; tried++) {
      final reply = await _ask('/auth/result?session=${started.session}&$what=1', timeout: _shortTimeout);
      if (const [204, 400, 410].contains(reply.status)) return;
      await Future<void>.delayed(reply.pause);
    }
  }

  /// unreachable: keep the old tokens and try later. invalid_grant: sign in again.
  Future<Tokens> refresh(String refreshToken) async {
    final body = {'service': service, 'refreshToken': refreshToken};
    return Tokens.fromJson(await _askUntilAnswered('/refresh', body, 'accessToken'));
  }

  /// The JSON object of a 200 that has the member. Tries again what may pass.
  Future<Map<String, dynamic>> _askUntilAnswered(String path, Map<String, Object> body, String member) async {
    var reply = _Reply();
    for (var tried = 0; tried < _tries; tried++) {
      if (tried > 0) await Future<void>.delayed(reply.pause);
      reply = await _ask(path, body: body);
      if (reply.has(member)) return reply.json;
      if (reply.status ~/ 100 == 4 && reply.status != 429) throw reply.refusal;
    }
    throw SignInFailure('unreachable', reply.status == 0 ? relay : '');
  }

  Future<_Reply> _ask(String path, {Map<String, Object>? body, Duration timeout = _timeout}) async {
    final request = http.Request(body == null ? 'GET' : 'POST', Uri.parse('$relay$path'));
    request.followRedirects = false; // One could lead tokens to another server, and a captive portal's may pass.
    if (body != null) {
      request.headers['Content-Type'] = 'application/json';
      request.body = jsonEncode(body);
    }
    try {
      return await _receive(request).timeout(timeout); // package:http has none of its own.
    } on Exception {
      // SocketException, ClientException (a response cut off), TimeoutException, HandshakeException.
      return _Reply();
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
  _Reply([this.status = 0, this.text = '', this.retryAfterSeconds = 0]);

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

  bool has(String member) => status == 200 && json[member] != null;

  SignInFailure get refusal =>
      json['error'] is String ? SignInFailure(json['error'] as String) : SignInFailure('refused', text);
}

/// Codes: access_denied, authorization_failed, missing_code, exchange_failed (from the relay),
/// expired, cancelled, refused, unreachable, invalid_grant (refresh only: sign in again),
/// not_saved (the next calls return the tokens).
class SignInFailure implements Exception {
  SignInFailure(this.code, [this.detail = '']);

  final String code;
  final String detail;

  @override
  String toString() => detail.isEmpty ? code : '$code: $detail';
}
