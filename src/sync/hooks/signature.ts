// Whether a request from a git server is authentic. Checks the raw body, which is never parsed. Pure.
import { sha256 } from '#lib/sha256.ts'
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Shorter tokens can be guessed by brute force. */
const MIN_TOKEN_CHARS = 16
const SIGNATURE = /^sha256=([0-9a-f]{64})$/

/**
 * GitHub, Gitea, Forgejo and scripts sign the body (X-Hub-Signature-256); GitLab sends the token itself (X-Gitlab-Token). If several headers are
 * present, each must be right.
 */
export function isAuthentic(headers: IncomingHttpHeaders, body: Uint8Array, token: string | undefined): boolean {
  // Without a token, does the same work as with one, so that response times do not reveal which sources exist.
  const key = token ?? 'x'.repeat(MIN_TOKEN_CHARS)
  const [signature, plain] = [headers['x-hub-signature-256'], headers['x-gitlab-token']]
  const expected = createHmac('sha256', key).update(body).digest()
  const verdicts = [
    ...(signature === undefined ? [] : [isEqual(hexIn(String(signature)), expected)]),
    ...(plain === undefined ? [] : [isEqual(sha256(String(plain)), sha256(key))]),
  ]
  return verdicts.length > 0 && verdicts.every(Boolean) && token !== undefined && token.length >= MIN_TOKEN_CHARS
}

const hexIn = (text: string): Buffer => Buffer.from(SIGNATURE.exec(text)?.[1] ?? '', 'hex')
const isEqual = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
