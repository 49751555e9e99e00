import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { issueCertificate, newAuthority, signRequest } from './certificates.ts'
import { holderOf } from './holder.ts'
import { newPrivateKey, signingRequest } from './signing-request.ts'

const validity = { now: Date.now(), days: 1 }
const authority = newAuthority('ca', validity)
const subject = { commonName: 'kubenode:agent:n-1', organizations: ['kubenode:agents', 'a + O=b', 'kubenode:node:n-1'] }

test('the name of a request that a signer repeats in one set is read as it was asked for', async () => {
  const request = await signingRequest(await newPrivateKey(), subject)
  const certificate = new X509Certificate(signRequest(authority, request, { usages: ['client auth'], validity }))
  expect(certificate.subject).toMatch(/O=kubenode:agents \+ O=/)
  const { commonName, organizations } = holderOf(certificate) ?? {}
  expect([commonName, organizations?.toSorted()]).toEqual([subject.commonName, subject.organizations.toSorted()])
})

test('a name of several sets is read alike', () => {
  const { certificate } = issueCertificate(authority, { subject, validity, usage: 'client' })
  expect(holderOf(new X509Certificate(certificate))).toEqual({ ...subject, others: [] })
})
