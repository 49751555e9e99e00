// What a host that makes the credentials itself reports of them. Pure.
import type { OwnCredentials } from '../port.ts'
import type { CredentialGraph } from './graph.ts'
import { type Held, rootIn, signerOf } from './held.ts'
import { certificatePrint } from './prints.ts'
import { CLUSTER_AUTHORITY, TOKEN_KEYS } from './recipe.ts'

export function ownCredentials(
  held: Held,
  { rotations, renewAt }: Pick<CredentialGraph, 'rotations' | 'renewAt'>,
): OwnCredentials {
  const declared = Object.fromEntries(
    [CLUSTER_AUTHORITY, TOKEN_KEYS].map((name) => [name, rootIn(held, name)?.generations.at(-1)?.declared ?? 1]),
  )
  const root = rootIn(held, CLUSTER_AUTHORITY)
  const signer = certificatePrint((root && signerOf(root)?.open) ?? '')
  return { declared, rotations, signer, ...(renewAt !== undefined && { renewAt }) }
}
