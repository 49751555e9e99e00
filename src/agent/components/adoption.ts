// Compares a staged version with the files that other programs have at its paths: which are equal, which differ, and what adopting would replace and restart.
import { join } from 'node:path'
import type { ComponentStatus, Machine } from '#api/kinds/machine.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { slotFolder } from '../node-dir.ts'
import type { Effect } from './effect.ts'
import {
  digestIn,
  isAdopted,
  isLeft,
  isOurLink,
  originalAt,
  type Kept,
  type KeptDeps,
  type KeptUnit,
  type Original,
} from './kept.ts'
import type { NodeLink } from './layout.ts'
import { linksOn } from './host-units.ts'

export type AdoptionMode = NonNullable<Machine['spec']['adoption']>
export type AdoptionReport = NonNullable<ComponentStatus['adoption']>

/** A path that the component does not own yet. */
export interface Standing {
  readonly link: NodeLink
  /** Undefined: a folder or a device, which is never replaced. */
  readonly original: Original | undefined
  readonly isEqual: boolean
  /** What replacing this path requires of the process. */
  readonly effect: Effect
}

/** Compares every path that the component would take over with its current content. Skips paths that the component already owns. */
export async function standingsOf(
  deps: KeptDeps,
  spec: MachineComponentSpec,
  slot: string,
  kept: Kept | undefined,
): Promise<readonly Standing[]> {
  const found: Standing[] = []
  for (const link of await linksOn(deps, spec)) {
    if (await isOurLink(deps, spec.component, link.path)) continue
    const original = await originalAt(deps, link.path)
    const ours = join(slotFolder(deps.dir, spec.component, slot), link.inSlot)
    const isEqual = original !== undefined && (await isSameContent(deps, original, ours))
    if (original !== undefined && isLeft(kept, original)) continue
    found.push({ link, original, isEqual, effect: isEqual ? 'None' : effectFor(spec, link) })
  }
  return found
}

async function isSameContent(deps: KeptDeps, original: Original, ours: string): Promise<boolean> {
  const stat = await deps.files.stat(ours)
  if (original.kind !== 'File' || stat?.kind !== 'File' || stat.size !== original.size) return false
  return (await digestIn(deps, ours)) === original.sha256
}

/** A program always needs a restart; a file declares what it needs. */
export function effectFor({ files = [], service }: MachineComponentSpec, { path }: NodeLink): Effect {
  const effect = files.find((f) => f.path === path)?.onChange ?? 'Restart'
  return effect === 'Reload' && service?.reloadSignal === undefined ? 'Restart' : effect
}

/** Paths that block the component: different content without consent to replace it, or an entry that is never replaced. */
export const inTheWay = (standings: readonly Standing[], mode: AdoptionMode, kept: Kept | undefined) =>
  standings.filter(
    ({ original, isEqual }) =>
      original === undefined || (original.kind !== 'Absent' && !isEqual && mode !== 'Adopt' && !isKept(kept, original)),
  )

/** This adoption already kept the original, but was interrupted before the link replaced it. */
const isKept = (kept: Kept | undefined, now: Original): boolean =>
  kept?.originals.some((o) => JSON.stringify(o) === JSON.stringify(now)) === true

const MOST = 32
/** A link target can have 4,095 characters, and a server rejects the whole report if one text is too long. */
const MOST_CHARS = 512

export function adoptionReport(
  standings: readonly Standing[],
  unit: KeptUnit | undefined,
  { stays, alsoStarted }: { readonly stays: readonly string[]; readonly alsoStarted: readonly string[] },
): AdoptionReport | undefined {
  const paths = (list: readonly Standing[]): string[] => list.map((s) => s.link.path).slice(0, MOST)
  const others = standings.filter((s) => s.original?.kind !== 'Absent')
  const known = others.filter((s) => s.original !== undefined)
  const differing = known.filter((s) => !s.isEqual)
  if (others.length === 0 && unit === undefined && alsoStarted.length === 0) return undefined
  const lists = {
    equal: paths(known.filter((s) => s.isEqual)),
    differs: differing.map(({ link, original }) => `${link.path} (${whatDiffers(original)})`).slice(0, MOST),
    kept: [...paths(known), ...(unit === undefined ? [] : [unitText(unit)])].slice(0, MOST),
    replaced: paths(differing),
    stays: stays.slice(0, MOST),
    alsoStarted: alsoStarted.slice(0, MOST),
    blocked: standings
      .filter((s) => s.original === undefined)
      .map((s) => `${s.link.path} is a folder or a device`)
      .slice(0, MOST),
  }
  const filled = Object.fromEntries(
    Object.entries(lists)
      .filter(([, list]) => list.length > 0)
      .map(([name, list]) => [name, list.map(short)]),
  )
  return { ...filled, restarts: restartsAtAdoption(standings, unit) }
}

const short = (text: string): string => text.slice(0, MOST_CHARS).toWellFormed()

const restartsAtAdoption = (standings: readonly Standing[], unit: KeptUnit | undefined): boolean =>
  unit?.active === 'active' && (!unit.isDeclared || standings.some((s) => s.effect === 'Restart'))

const whatDiffers = (original: Original | undefined): string =>
  original?.kind === 'Link' ? `a link to ${original.target}` : 'other content'

const unitText = ({ unit, active, file }: KeptUnit): string => `${unit} (${active}, ${file})`

/** After the adoption: the originals that can be restored. */
export function keptReport(kept: Kept | undefined): AdoptionReport | undefined {
  if (kept === undefined || !isAdopted(kept)) return undefined
  const paths = kept.originals.filter((o) => o.kind !== 'Absent').map((o) => o.path)
  return { kept: [...paths, ...(kept.unit === undefined ? [] : [unitText(kept.unit)])].slice(0, MOST), restarts: false }
}
