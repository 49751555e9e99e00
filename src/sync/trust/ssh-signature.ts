// Verifies an armored SSH signature (SSHSIG, PROTOCOL.sshsig of OpenSSH) over bytes: same as ssh-keygen -Y check-novalidate, without a program. It
// returns the key that signed; whether that key may sign is decided elsewhere. Where OpenSSH is more lenient, a comment gives the reason.
import { createHash, verify, type KeyObject } from 'node:crypto'
import { curveOf, sshKey, type SshKey } from './ssh-key.ts'
import { Malformed, WireReader, fixedInteger, wireString } from './ssh-wire.ts'
import { sha256 } from '#lib/sha256.ts'

/** Git signs commits and tags in this namespace, so a signature for a file or a login does not count for a commit. */
const NAMESPACE = 'git'
export const SSH_BEGIN = '-----BEGIN SSH SIGNATURE-----'
export const SSH_END = '-----END SSH SIGNATURE-----'
const MAGIC = 'SSHSIG'
export const VERSION = 1
const HASHES: ReadonlySet<string> = new Set(['sha256', 'sha512'])
const RSA_HASHES: Readonly<Record<string, string>> = {
  __proto__: null as never,
  'rsa-sha2-256': 'sha256',
  'rsa-sha2-512': 'sha512',
}
const ED25519_SIGNATURE_BYTES = 64
/** The user touched the hardware key. */
const USER_PRESENT = 0x01

/** Throws Malformed when it is not a signature, or not over these bytes. */
export function verifySshSignature(armored: string, message: Uint8Array): SshKey {
  const reader = new WireReader(dearmored(armored))
  if (reader.take(MAGIC.length).toString('latin1') !== MAGIC) throw new Malformed('is not an SSH signature')
  const version = reader.number()
  if (version !== VERSION) throw new Malformed(`has the version ${version}`)
  const key = sshKey(reader.string())
  const namespace = reader.text()
  if (namespace !== NAMESPACE)
    throw new Malformed(`was made for ${JSON.stringify(namespace.slice(0, 64))}, not for git`)
  if (reader.string().length > 0) throw new Malformed('has content in its reserved field')
  const hash = reader.text()
  if (!HASHES.has(hash)) throw new Malformed(`uses the hash ${hash.slice(0, 64)}`)
  const signature = new WireReader(reader.string())
  reader.end()
  const digest = createHash(hash).update(message).digest()
  if (!isSignedBy(key, signedData(hash, digest), signature)) throw new Malformed('does not match the content')
  return key
}

/** What the key itself signs: the hash of the message, in namespace git. */
export const signedData = (hash: string, digest: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(MAGIC), ...[NAMESPACE, '', hash, digest].map(wireString)])

function isSignedBy(key: SshKey, data: Buffer, signature: WireReader): boolean {
  const algorithm = signature.text()
  const blob = signature.string()
  const curve = curveOf(key.type)
  if (key.type === 'ssh-rsa') {
    signature.end()
    const hash = RSA_HASHES[algorithm]
    if (hash === undefined) throw new Malformed(`uses ${algorithm.slice(0, 64)}; RSA keys sign with rsa-sha2-512`)
    const bytes = Math.ceil((key.key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
    return verify(hash, data, key.key, fixedInteger(blob, bytes))
  }
  if (algorithm !== key.type) throw new Malformed(`is a ${algorithm.slice(0, 64)} signature of a ${key.type} key`)
  const toVerify = key.application === undefined ? data : hardwareData(key.application, data, signature)
  signature.end()
  if (curve !== undefined) {
    const numbers = new WireReader(blob)
    const [r, s] = [numbers.integer(), numbers.integer()]
    numbers.end()
    const fixed = Buffer.concat([fixedInteger(r, curve.bytes), fixedInteger(s, curve.bytes)])
    return verify(curve.hash, toVerify, { key: key.key, dsaEncoding: 'ieee-p1363' }, fixed)
  }
  if (blob.length !== ED25519_SIGNATURE_BYTES) throw new Malformed('has an Ed25519 signature of another length')
  return verifyPlain(toVerify, key.key, blob)
}

const verifyPlain = (data: Buffer, key: KeyObject, signature: Buffer): boolean => verify(null, data, key, signature)

/** A hardware key signs the application, whether it was touched, and its signature counter. */
function hardwareData(application: Buffer, data: Buffer, signature: WireReader): Buffer {
  const [flags, counter] = [signature.take(1), signature.take(4)]
  if (((flags[0] ?? 0) & USER_PRESENT) === 0)
    throw new Malformed('was made by a hardware key that was not touched (no-touch-required)')
  return Buffer.concat([sha256(application), flags, counter, sha256(data)])
}

function dearmored(armored: string): Buffer {
  const text = armored.trimEnd()
  const isWhole = text.startsWith(`${SSH_BEGIN}\n`) && text.endsWith(`\n${SSH_END}`)
  const inside = isWhole ? text.slice(SSH_BEGIN.length, -SSH_END.length) : ''
  if (!isWhole || inside.includes('-----')) throw new Malformed('is not one armored SSH signature')
  const base64 = inside.replaceAll(/[\n\r\t ]/g, '')
  // Node skips unknown characters; a lenient reader would accept what others refuse.
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) throw new Malformed('is not base64')
  return Buffer.from(base64, 'base64')
}
