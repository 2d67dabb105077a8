// The screen: SignInView(relay: relay) { tokens in … }, with one
// let relay = RelayTokens(relay: "https://relay.example", service: "mal") for the whole app.
import CoreImage.CIFilterBuiltins
import SwiftUI

struct SignInView: View {
    let relay: RelayTokens
    let onTokens: (SavedTokens) -> Void

    @State private var started: Started?
    @State private var failure: String?
    @State private var attempt = 0

    var body: some View {
        VStack(spacing: 40) {
            if let failure {
                Text(failure)
                Button("Try again") {
                    started = nil
                    self.failure = nil
                    attempt += 1
                }
            } else if let started {
                if let code = qrCode(started.link) {
                    Image(decorative: code, scale: 1).interpolation(.none)
                }
                Text("Open \(started.link)").font(.title2)
                Text("or enter \(started.userCode) at \(relay.signIn.relay)/link")
            } else {
                ProgressView()
            }
        }
        // SwiftUI cancels the task when the view disappears, as it does at the Menu button.
        .task(id: attempt) {
            do {
                onTokens(try await relay.tokens(device: "Apple TV", onStarted: { started = $0 }))
            } catch is CancellationError {
                // The user has left.
            } catch {
                failure = text(of: error)
            }
        }
    }

    private func text(of error: Error) -> String {
        switch (error as? SignInFailure)?.code {
        case "access_denied": return "The sign-in was declined."
        case "expired": return "Nobody signed in."
        case "unreachable": return "No connection. Please try again later."
        default: return "The sign-in failed."
        }
    }

    /// Black on white whatever the appearance, with the margin of four modules.
    private func qrCode(_ link: String, modulePixels: CGFloat = 12) -> CGImage? {
        let filter = CIFilter.qrCodeGenerator()
        filter.message = Data(link.utf8)
        filter.correctionLevel = "L"
        guard let code = filter.outputImage else { return nil }
        let framed = code.extent.insetBy(dx: -4, dy: -4)
        let image = code.composited(over: CIImage(color: .white).cropped(to: framed))
            .transformed(by: CGAffineTransform(scaleX: modulePixels, y: modulePixels))
        return CIContext().createCGImage(image, from: image.extent)
    }
}
