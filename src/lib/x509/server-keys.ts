// A server's keys and certificates: provided, or read from the data folder, or created once and kept there, readable only by the owner.
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KubeNodeError, messageOf } from '../errors.ts'
import { writeWholeFile } from '../whole-file.ts'
import { issueCertificate, newAuthority, type KeyAndCertificate } from './certificates.ts'
import { SERVER_NAMES } from './server-names.ts'
import { serverKeysErrors } from './server-keys-errors.ts'
import { defined } from '../defined.ts'

const AUTHORITY_DAYS = 3_650
const CERTIFICATE_DAYS = 3_650

export interface Credentials {
  /** The providing hub's digest of them; undefined for locally created ones. */
  readonly digest?: string
  /** Signs client certificates. */
  readonly authority: KeyAndCertificate
  /** PEM of all trusted authorities during a replacement; if left out, the signing one. */
  readonly trusted?: string
  readonly server: KeyAndCertificate
  readonly admin: KeyAndCertificate
  /** PEM of the private key that signs service account tokens. */
  readonly tokenKey: string
  /** PEM of additional public keys that verify tokens. */
  readonly otherTokenKeys?: readonly string[]
}

/** PEM of all trusted authorities. */
export const trustedBy = ({ authority, trusted }: Credentials): string => trusted ?? authority.certificate

export function newCredentials(now: number, hosts: readonly string[]): Credentials {
  const authority = newAuthority('kubenode-ca', { now, days: AUTHORITY_DAYS })
  const validity = { now, days: CERTIFICATE_DAYS }
  const server = issueCertificate(authority, {
    subject: { commonName: 'kube-apiserver' },
    validity,
    usage: 'server',
    hosts: [...new Set([...SERVER_NAMES, ...hosts])],
  })
  const admin = issueCertificate(authority, {
    subject: { commonName: 'kubernetes-admin', organizations: ['system:masters'] },
    validity,
    usage: 'client',
  })
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { authority, server, admin, tokenKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) }
}

const FILES = ['ca.crt', 'ca.key', 'server.crt', 'server.key', 'admin.crt', 'admin.key', 'tokens.key'] as const

/** Credentials provided by a hub, in one file, so that a kill leaves a complete old or new version. */
const GIVEN = 'given.json'

export function keepCredentials(folder: string, given: Credentials): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeWholeFile(join(folder, GIVEN), JSON.stringify(given))
}

export const isGiven = (folder: string): boolean => existsSync(join(folder, GIVEN))

function givenIn(folder: string): Credentials | undefined {
  const file = join(folder, GIVEN)
  if (!existsSync(file)) return undefined
  try {
    const given = JSON.parse(readFileSync(file, 'utf8')) as Credentials
    for (const { certificate, key } of [given.authority, given.server, given.admin]) {
      if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
        throw new Error('a key does not belong to its certificate')
    }
    createPrivateKey(given.tokenKey)
    return given
  } catch (e) {
    throw new KubeNodeError(serverKeysErrors.KN6104_file({ file, why: messageOf(e), folder }), { cause: e })
  }
}

/** What clients use to verify a server that may not be running; undefined if the folder has no readable ones. */
export function authoritiesIn(folder: string): Pick<Credentials, 'digest' | 'trusted'> | undefined {
  try {
    const given = givenIn(folder)
    if (given === undefined) return { trusted: readFileSync(join(folder, 'ca.crt'), 'utf8') }
    return { trusted: trustedBy(given), ...defined({ digest: given.digest }) }
  } catch {
    return undefined
  }
}

/** Uses existing files unchanged. Creates all or none: an incomplete folder is damage and reported. */
export function credentialsIn(folder: string, now: number, hosts: readonly string[]): Credentials {
  const given = givenIn(folder)
  if (given !== undefined) return given
  const missing = FILES.filter((f) => !existsSync(join(folder, f)))
  if (missing.length === 0) return readCredentials(folder)
  if (missing.length < FILES.length)
    throw new KubeNodeError(serverKeysErrors.KN6104({ folder, missing: missing.join(', ') }))
  const made = newCredentials(now, hosts)
  const fresh = `${folder}.new`
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true, mode: 0o700 })
  const write = (name: (typeof FILES)[number], text: string) =>
    writeFileSync(join(fresh, name), text, { mode: 0o600, flush: true })
  write('ca.crt', made.authority.certificate)
  write('ca.key', made.authority.key)
  write('server.crt', made.server.certificate)
  write('server.key', made.server.key)
  write('admin.crt', made.admin.certificate)
  write('admin.key', made.admin.key)
  write('tokens.key', made.tokenKey)
  renameSync(fresh, folder)
  return made
}

function readCredentials(folder: string): Credentials {
  const read = (name: (typeof FILES)[number]): string => {
    const file = join(folder, name)
    const text = readFileSync(file, 'utf8')
    try {
      if (name.endsWith('.crt')) return new X509Certificate(text).toString()
      createPrivateKey(text)
      return text
    } catch (e) {
      throw new KubeNodeError(serverKeysErrors.KN6104_file({ file, why: messageOf(e), folder }), { cause: e })
    }
  }
  return {
    authority: { certificate: read('ca.crt'), key: read('ca.key') },
    server: { certificate: read('server.crt'), key: read('server.key') },
    admin: { certificate: read('admin.crt'), key: read('admin.key') },
    tokenKey: read('tokens.key'),
  }
}
