// The numbered errors of api.
import { errorTable } from '#lib/error-table.ts'

export const apiErrors = errorTable({
  KN5000: {
    text: 'cannot accept {where}',
    next: 'fix the following and try again:{lines}',
  },
  KN5001: {
    text: '{place}: unknown field',
    next: 'remove it, or use the suggested name',
  },
  KN5002: {
    text: '{place}: is required',
    next: 'add it',
  },
  KN5003: {
    text: '{place}: wrong type',
    next: 'use a value of the allowed type',
  },
  KN5004: {
    text: '{place}: out of bounds',
    next: 'use a value within the bounds',
  },
  KN5005: {
    text: '{place}: wrong format',
    next: 'use the required format',
  },
  KN5006: {
    text: '{place}: duplicate',
    next: 'remove one of them',
  },
  KN5007: {
    text: '{place}: violates a rule of this kind',
    next: 'follow the rule in the message',
  },
  KN5008: {
    text: '{place}: is immutable',
    next: 'keep its value, or create a new object with another name',
  },
  KN5009: {
    text: '{place}: not an object of this kind',
    next: 'fix apiVersion and kind',
  },
  KN5010: {
    text: 'cannot create a chart for cluster {cluster}: its name must consist of at most 63 lower-case letters, digits and "-"',
    next: 'rename the cluster',
  },
  KN5011: {
    text: 'cannot render the fleet: {wrong}',
    next: 'correct the fleet',
  },
  KN5012: {
    text: '{place}: not served yet: no part of KubeNode acts on it',
    next: 'leave it out until a version serves it; docs/reference names the fields',
  },
  KN5013: {
    text: 'cannot declare the encrypted Secret of {file}: it is no path to a file of sops',
    next: 'write it from the folder of the fleet, as in fleet/secrets/db.sops.yaml',
  },
  KN5014: {
    text: 'cannot create a chart for cluster {cluster}: that is the hub itself',
    next: 'use a HubChart for objects of the hub, and give the cluster another name',
  },
  KN5101: {
    text: 'cannot read the signing key: it is not a PEM private key',
    next: 'create one with kubenode artifact keys',
  },
  KN5102: {
    text: 'cannot sign with a key of type {type}: only ed25519 is supported',
    next: 'create one with kubenode artifact keys',
  },
})
