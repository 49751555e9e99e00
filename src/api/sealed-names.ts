// Names of sealed values and of the keys they are sealed to. Pure.
import { sha256Hex } from '#lib/sha256.ts'

/** A public key's short name, so that a value sealed to an old key is recognizable. */
export const keyName = (publicKey: string): string => sha256Hex(Buffer.from(publicKey, 'base64')).slice(0, 8)

/** The ConfigMap in the system namespace with one configuration's sealed values for one machine. Machine names may have the maximum length. */
export const sealedObjectName = (sealedIn: string, machine: string): string =>
  `${sealedIn}.${sha256Hex(machine).slice(0, 16)}`

/** ConfigMap keys allow fewer characters than paths. */
export const sealedKey = (path: string): string => sha256Hex(path).slice(0, 32)
