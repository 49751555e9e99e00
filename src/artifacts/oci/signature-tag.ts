// The tag of an image's signatures for registries without referrers, as cosign names it.
import { hexOf } from './descriptor.ts'

export const SIGNATURE_TYPE = 'application/vnd.dev.cosign.artifact.sig.v1+json'

export const signatureTag = (digest: string): string => `sha256-${hexOf(digest)}.sig`
