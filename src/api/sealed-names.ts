// How sealed values and the keys that they are sealed to are named. Pure.
import { createHash } from 'node:crypto'

/** Short name of a public key, so that a value that was sealed to an old one says so. */
export const keyName = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex').slice(0, 8)

/** The ConfigMap in our own namespace that holds the sealed values of one configuration for one machine. Machine names may be as long as names can be. */
export const sealedObjectName = (sealedIn: string, machine: string): string =>
  `${sealedIn}.${createHash('sha256').update(machine).digest('hex').slice(0, 16)}`

/** Keys of a ConfigMap may hold less than paths. */
export const sealedKey = (path: string): string => createHash('sha256').update(path).digest('hex').slice(0, 32)
