//! A file over quinn, for `crossfade suite`: `quinn-peer serve` and `quinn-peer fetch`, by the environment.
//!
//! The client names a file on a stream of its own, and the server answers with its bytes.
//!
//! Two mistakes for a suite to catch: `PEER_LOSS_REDUCTION`, such as 0.1, makes the server's congestion control NewReno with
//! that factor at a loss (RFC 9002 has 0.5), and `PEER_SEND_SLEEP`, such as 5 (milliseconds), makes the client sleep before
//! each packet that it sends: nearly all of these are acknowledgements.

use quinn::congestion::NewRenoConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use std::env::var;
use std::error::Error;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fs, path::Path};

const PROTOCOL: &[u8] = b"hq-interop";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    rustls::crypto::ring::default_provider().install_default().ok();
    match std::env::args().nth(1).as_deref() {
        Some("serve") => serve().await,
        Some("fetch") => fetch().await,
        _ => Err("quinn-peer serve | fetch".into()),
    }
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let certificates =
        CertificateDer::pem_file_iter(var("CROSSFADE_CERTIFICATE")?)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(var("CROSSFADE_KEY")?)?;
    let mut tls =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(certificates, key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    if let Ok(factor) = var("PEER_LOSS_REDUCTION") {
        let mut control = NewRenoConfig::default();
        control.loss_reduction_factor(factor.parse()?);
        let mut transport = quinn::TransportConfig::default();
        transport.congestion_controller_factory(Arc::new(control));
        config.transport_config(Arc::new(transport));
    }
    let address: SocketAddr = format!("0.0.0.0:{}", var("CROSSFADE_PORT")?).parse()?;
    let endpoint = quinn::Endpoint::server(config, address)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let Ok(connection) = incoming.await else { return };
            while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                let Ok(asked) = receive.read_to_end(4096).await else { return };
                let name = String::from_utf8_lossy(&asked).into_owned();
                let root = var("CROSSFADE_ROOT").unwrap_or_default();
                let data =
                    Path::new(&name).file_name().and_then(|name| fs::read(Path::new(&root).join(name)).ok());
                if send.write_all(&data.unwrap_or_default()).await.is_ok() {
                    let _ = send.finish();
                }
            }
        });
    }
    Ok(())
}

async fn fetch() -> Result<(), Box<dyn Error>> {
    let mut tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut socket = TokioRuntime.wrap_udp_socket(UdpSocket::bind("0.0.0.0:0")?)?;
    if let Ok(sleep) = var("PEER_SEND_SLEEP") {
        socket = Arc::new(Slow { socket, sleep: Duration::from_secs_f64(1e-3 * sleep.parse::<f64>()?) });
    }
    let runtime = Arc::new(TokioRuntime);
    let mut endpoint = quinn::Endpoint::new_with_abstract_socket(Default::default(), None, socket, runtime)?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
    let server: SocketAddr = format!("{}:{}", var("CROSSFADE_SERVER")?, var("CROSSFADE_PORT")?).parse()?;
    let connection = endpoint.connect(server, "crossfade")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(var("CROSSFADE_FILE")?.as_bytes()).await?;
    send.finish()?;
    fs::write(var("CROSSFADE_DOWNLOAD")?, receive.read_to_end(1 << 30).await?)?;
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// A socket that sleeps before each packet that it sends, and the client's only thread with it.
#[derive(Debug)]
struct Slow {
    socket: Arc<dyn AsyncUdpSocket>,
    sleep: Duration,
}

impl AsyncUdpSocket for Slow {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.socket).create_io_poller()
    }
    fn try_send(&self, transmit: &Transmit) -> io::Result<()> {
        std::thread::sleep(self.sleep);
        self.socket.try_send(transmit)
    }
    fn poll_recv(
        &self,
        context: &mut Context,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_recv(context, buffers, meta)
    }
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }
    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

/// The certificate is made for the run: nobody else is in these two namespaces.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
