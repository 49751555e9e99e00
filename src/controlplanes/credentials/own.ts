// The report of a host that creates credentials itself. Pure.
import type { OwnCredentials } from '../port.ts'
import type { CredentialGraph } from './graph.ts'
import { type Held, rootIn, signerOf } from './held.ts'
import { certificatePrint } from './prints.ts'
import { CLUSTER_AUTHORITY } from './recipe.ts'
import { defined } from '#lib/defined.ts'

export function ownCredentials(
  held: Held,
  { rotations, renewAt }: Pick<CredentialGraph, 'rotations' | 'renewAt'>,
): OwnCredentials {
  const declared = Object.fromEntries(
    Object.entries(held).flatMap(([name, item]) =>
      item.kind === 'Root' || item.kind === 'SealingKeys'
        ? [[name, item.generations.at(-1)?.declared ?? 1] as const]
        : [],
    ),
  )
  const root = rootIn(held, CLUSTER_AUTHORITY)
  const signer = certificatePrint((root && signerOf(root)?.open) ?? '')
  return { declared, rotations, signer, ...defined({ renewAt }) }
}
