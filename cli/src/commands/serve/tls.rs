//! Certificates and keys for HTTPS.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Loads a certificate and its key into an acceptor of TLS connections.
pub fn load(certificate: &Path, key: &Path) -> Result<TlsAcceptor> {
    let cannot = |path: &Path| format!("{} cannot be read as PEM", path.display());
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .with_context(|| cannot(certificate))?;
    if chain.is_empty() {
        bail!("{} has no certificate in it", certificate.display());
    }
    let private = PrivateKeyDer::from_pem_file(key).with_context(|| cannot(key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .with_context(|| {
            format!("{} and {} do not go together", certificate.display(), key.display())
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
