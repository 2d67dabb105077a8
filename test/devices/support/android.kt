// An app without a screen around the program for Android: it prints, and Enter is Back. Two of its parts want the
// tokens. With an address of an API as its third argument it asks that three times at once.
package example.relay

import java.io.File
import java.util.concurrent.CompletableFuture
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.runBlocking
import okhttp3.OkHttpClient
import okhttp3.Request

fun main(args: Array<String>) {
    val file = File("tokens-${args[1]}.json")
    val relay = RelayTokens(RelaySignIn(args[0].trimEnd('/'), args[1]), file)
    try {
        val tokens = runBlocking(Dispatchers.Default) {
            val signingIn = async {
                List(2) { async { relay.tokens("Living room", onStarted = { println("Open ${it.link}") }) } }.awaitAll().first()
            }
            thread(isDaemon = true) { if (readlnOrNull() != null) signingIn.cancel() }
            signingIn.await()
        }
        if (args.size > 2) askThrice(args[2], relay, tokens.accessToken)
        println("Signed in.")
    } catch (failure: SignInFailure) {
        System.err.println(failure.message)
        if (failure.code != "not_saved") exitProcess(1)
        while (!file.isFile) {
            runBlocking { relay.tokens("Living room", onStarted = { println("Open ${it.link}") }) }
            println("Goes on.")
            Thread.sleep(200)
        }
    } catch (cancelled: CancellationException) {
        System.err.println("cancelled")
        exitProcess(130)
    }
}

private fun askThrice(address: String, relay: RelayTokens, accessToken: String) {
    val api = OkHttpClient.Builder().authenticator(RelayAuthenticator(relay)).build()
    val request = Request.Builder().url(address).header("Authorization", "Bearer $accessToken").build()
    val answers = List(3) { CompletableFuture.supplyAsync { api.newCall(request).execute().code } }
    println("The API answered ${answers.map { it.join() }}")
}
