// Where signatures of an image are found without a list of referrers, as cosign names them.
import { hexOf } from './descriptor.ts'

export const SIGNATURE_TYPE = 'application/vnd.dev.cosign.artifact.sig.v1+json'

export const signatureTag = (digest: string): string => `sha256-${hexOf(digest)}.sig`
