import 'reflect-metadata'
import { Pkcs10CertificateRequest } from '@peculiar/x509'
import { createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newPrivateKey, signingRequest } from './signing-request.ts'

describe('a signing request', () => {
  test.each<[string, string, readonly string[]]>([
    ['of a program', 'kubenode:sync', []],
    ['of an agent', 'kubenode:agent:workers-x', ['kubenode:agents', 'kubenode:node:workers-x']],
    ['with a name beyond ASCII', 'knoten-ä-机器', ['o']],
    ['longer than one byte of length can say', 'n'.repeat(253), ['o'.repeat(200), 'p'.repeat(300)]],
  ])('%s is read back by a library as it was meant', async (_name, commonName, organizations) => {
    const key = await newPrivateKey()
    const read = new Pkcs10CertificateRequest(await signingRequest(key, { commonName, organizations }))
    expect(await read.verify()).toBe(true)
    expect(read.subjectName.getField('CN')).toEqual([commonName])
    expect(read.subjectName.getField('O')).toEqual(organizations)
    const own = createPublicKey(key).export({ type: 'spki', format: 'der' })
    expect(Buffer.from(read.publicKey.rawData).equals(own)).toBe(true)
    expect(read.attributes).toEqual([])
  })
})
