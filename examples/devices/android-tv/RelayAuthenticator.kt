// The Authenticator of the OkHttpClient with which the app calls the provider's API. A 401 refreshes the
// tokens, once for all requests that got it, and repeats the request with the new token.
//
//     val api = OkHttpClient.Builder().authenticator(RelayAuthenticator(relay)).build()
package example.relay

import kotlinx.coroutines.runBlocking
import okhttp3.Authenticator
import okhttp3.Request
import okhttp3.Response
import okhttp3.Route

class RelayAuthenticator(private val relay: RelayTokens) : Authenticator {
    override fun authenticate(route: Route?, response: Response): Request? {
        val rejectedToken = response.request.header("Authorization")?.removePrefix("Bearer ") ?: return null
        if (response.priorResponse?.code == 401) return null // The new token was rejected as well.
        val tokens = try {
            // On a thread of OkHttp, which may wait.
            runBlocking { relay.refresh(rejectedToken) }
        } catch (failure: SignInFailure) {
            // The app gets the 401. With invalid_grant the user has to sign in again; otherwise try later.
            return null
        }
        return response.request.newBuilder().header("Authorization", "Bearer ${tokens.accessToken}").build()
    }
}
