// Names of sealed values and of the keys they are sealed to. Pure.
import { createHash } from 'node:crypto'

/** A public key's short name, so that a value sealed to an old key is recognizable. */
export const keyName = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex').slice(0, 8)

/** The ConfigMap in the system namespace with one configuration's sealed values for one machine. Machine names may have the maximum length. */
export const sealedObjectName = (sealedIn: string, machine: string): string =>
  `${sealedIn}.${createHash('sha256').update(machine).digest('hex').slice(0, 16)}`

/** ConfigMap keys allow fewer characters than paths. */
export const sealedKey = (path: string): string => createHash('sha256').update(path).digest('hex').slice(0, 32)
