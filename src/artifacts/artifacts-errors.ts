// The numbered errors of the artifact server.
import { errorTable } from '#lib/error-table.ts'

export const artifactsErrors = errorTable({
  KN14001: {
    text: 'cannot agree on a certificate for artifacts: the Secret {secret} keeps changing',
    next: 'let nothing else write it; tried again automatically',
  },
  KN1329_artifacts: {
    text: 'cannot serve artifacts with {file}: {why}',
    next: 'give --artifacts-cert and --artifacts-key a certificate and its key in PEM that belong together',
  },
  KN14003: {
    text: 'cannot serve the artifacts in {folder}: {why}',
    next: 'mount the volume with the artifacts there, or correct --artifacts-folder',
  },
  KN1206_artifacts: {
    text: 'cannot serve artifacts on {host} port {port}: {why}',
    next: 'give --artifacts-listen another address or port',
  },
  KN14005: {
    text: 'cannot serve the artifacts {digest} of {place}: {why}',
    next: 'push them as an OCI artifact whose layers have titles, and name its digest in --artifacts-oci',
  },
})
