// Racks and zones, which are not objects: what `kubenode why rack/R` reads about one.
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { machinesAt, type PlaceNamed, placeStory } from './place-story.ts'
import type { Story } from './finding.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { placeOf } from './objects/place.ts'
import { inspectErrors } from './objects/objects-errors.ts'

/** Undefined: the word is not a rack or a zone. */
export function placeCalled(word: string): PlaceNamed | undefined {
  const [kind = '', name = '', ...rest] = word.split('/')
  const known = (['rack', 'zone'] as const).find((k) => k === kind.toLowerCase())
  return known === undefined || name === '' || rest.length > 0 ? undefined : { kind: known, name }
}

export async function storyOfPlace(client: KubeClient, place: PlaceNamed, now: number): Promise<Story> {
  const [machines, events, permits, ledger] = await Promise.all([
    listAll(client, machine),
    listAll(client, maintenanceEvent),
    listAll(client, operationPermit),
    client.get(defenderLedger, { name: 'cluster' }),
  ])
  if (machinesAt(machines, place).length > 0) return placeStory(place, { machines, events, permits, ledger }, now)
  const near = didYouMean(place.name, [...new Set(machines.flatMap((m) => m.spec[place.kind] ?? []))])
  const hint = near === undefined ? '' : `; did you mean ${place.kind}/${near}?`
  throw new KubeNodeError(
    inspectErrors.KN1313({ what: `${place.kind}/${place.name}`, place: placeOf(client), hint, plural: 'machines' }),
  )
}
