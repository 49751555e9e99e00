// The numbered errors of images.
import { errorTable } from '#lib/error-table.ts'

export const ociErrors = errorTable({
  KN1101_layer: {
    text: 'cannot put {path} into a layer: {why}',
    next: 'leave the file out, or give it another name',
  },
  KN1208_package: {
    text: 'cannot read the package {file}: {why}',
    next: 'install the program that is missing, or delete the file, so that it is fetched again',
  },
  KN1120_library: {
    text: 'cannot build the base of the image for {architecture}: {binary} needs {library}, which no package in the lock file has',
    next: 'run npm run image:lock',
  },
  KN13010: {
    text: 'cannot read {what}: {why}',
    next: 'check that it is an OCI image, and that nothing changed it on the way',
  },
  KN13011: {
    text: 'cannot use the image reference {reference}: {why}',
    next: 'write it as HOST/NAME:TAG or HOST/NAME@sha256:DIGEST',
  },
  KN13011_missing: {
    text: 'cannot find {what} in {place}',
    next: 'check the name and the tag',
  },
  KN13010_layout: {
    text: 'cannot use the layout {folder}: {why}',
    next: 'name a folder or tar file that kubenode image build made',
  },
  KN13020: {
    text: 'cannot {what} at {host}: {why}',
    next: 'check the address, the network and the certificate authority (--ca FILE)',
  },
  KN13021: {
    text: 'cannot {what} at {host}: the registry answered {status}{detail}',
    next: 'check the name of the repository and what these credentials may do there',
  },
  KN13022: {
    text: 'cannot {what} at {host}: the registry wants a login',
    next: 'run docker login {host}, or name another file with --docker-config FILE',
  },
  KN13023: {
    text: 'cannot {what} at {host}: {why}',
    next: 'nothing was sent there; ask who runs the registry',
  },
  KN13024: {
    text: 'cannot talk to {host} without TLS',
    next: 'give the registry a certificate, or allow this host with --insecure {host}',
  },
  KN13022_file: {
    text: 'cannot read the credentials in {file}: {why}',
    next: 'correct the file, or name another with --docker-config FILE',
  },
  KN1449_upload: {
    text: 'cannot upload {digest} to {host}: no progress after {attempts} attempts: {why}',
    next: 'run the command again; layers that were uploaded whole are not sent again',
  },
  KN13030: {
    text: 'cannot use the key {file}: {why}',
    next: 'make one with openssl ecparam -genkey -name prime256v1 -noout',
  },
  KN13031: {
    text: '{image} is not verified: {why}',
    next: 'do not run it; ask who published it, or name another key',
  },
})
