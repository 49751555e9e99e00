// The numbered errors of api.
import { errorTable } from '#lib/error-table.ts'

export const apiErrors = errorTable({
  KN5000: {
    text: 'cannot accept {where}',
    next: 'fix the following and try again:{lines}',
  },
  KN3097_chart: {
    text: 'cannot create a chart for cluster {cluster}: its name must consist of at most 63 lower-case letters, digits and "-"',
    next: 'rename the cluster',
  },
  KN5011: {
    text: 'cannot render the fleet: {wrong}',
    next: 'correct the fleet',
  },
  KN5013: {
    text: 'cannot declare the encrypted Secret of {file}: it is no path to a file of sops',
    next: 'write it from the folder of the fleet, as in fleet/secrets/db.sops.yaml',
  },
  KN3097_hub: {
    text: 'cannot create a chart for cluster {cluster}: that is the hub itself',
    next: 'use a HubChart for objects of the hub, and give the cluster another name',
  },
  KN5101: {
    text: 'cannot read the signing key: it is not a PEM private key',
    next: 'create one with kubenode artifact keys',
  },
  KN5101_type: {
    text: 'cannot sign with a key of type {type}: only ed25519 is supported',
    next: 'create one with kubenode artifact keys',
  },
})
