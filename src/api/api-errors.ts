// The numbered errors of api.
import { errorTable } from '#lib/error-table.ts'

export const apiErrors = errorTable({
  KN5000: {
    text: 'cannot accept {where}',
    next: 'correct this and try again:{lines}',
  },
  KN5001: {
    text: '{place}: is not a field of this kind',
    next: 'remove it, or use the suggested name',
  },
  KN5002: {
    text: '{place}: is required',
    next: 'add it',
  },
  KN5003: {
    text: '{place}: has the wrong type',
    next: 'write a value of the allowed type',
  },
  KN5004: {
    text: '{place}: is out of bounds',
    next: 'write a value within the bounds given',
  },
  KN5005: {
    text: '{place}: has the wrong form',
    next: 'write it in the form given',
  },
  KN5006: {
    text: '{place}: is a duplicate',
    next: 'remove one of the two',
  },
  KN5007: {
    text: '{place}: breaks a rule of this kind',
    next: 'follow the rule that the message quotes',
  },
  KN5008: {
    text: '{place}: is immutable',
    next: 'keep its value, or create the object under another name',
  },
  KN5009: {
    text: '{place}: is not an object of this kind',
    next: 'correct apiVersion and kind',
  },
  KN5010: {
    text: 'cannot make a chart for the cluster {cluster}: its name must be lower-case letters, digits and "-", at most 63',
    next: 'rename the cluster',
  },
  KN5011: {
    text: 'cannot render the fleet: {wrong}',
    next: 'correct the fleet',
  },
  KN5101: {
    text: 'cannot read the signing key: it is not a PEM private key',
    next: 'make one with kubenode artifact keys',
  },
  KN5102: {
    text: 'cannot sign with a key of type {type}: only ed25519 is supported',
    next: 'make one with kubenode artifact keys',
  },
})
