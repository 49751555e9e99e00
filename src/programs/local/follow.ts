// Follows a running local fleet: draws its state and reports when it is ready, i.e. matches the newest commit with a heartbeat from every agent.
import { join } from 'node:path'
import { shellWord } from '#lib/shell-word.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeClient } from '#kube/client.ts'
import type { DeclaredFiles } from './declared.ts'
import type { Driver } from './driver.ts'
import { HUB, type Layout } from './layout.ts'
import { type FleetView, observeFleet, watchFleet } from './observe.ts'
import { commitNames, newestCommit } from './repository.ts'
import type { Screen } from '#lib/terminal/screen.ts'
import type { FleetSeen } from '#explain/progress/seen.ts'
import { stuckWhy } from '#explain/progress/stuck.ts'
import { rehearsalNotes, silentMachines, unmet } from '#explain/progress/unmet.ts'
import { summaryLines } from './summary.ts'

const POLL_MS = 500
/** A check that takes longer has failed. A slow machine needs a tenth of this. */
const CHECK_WITHIN_MS: Readonly<Record<Driver, number>> = { process: 240_000, nspawn: 1_200_000 }

export interface UpResult {
  readonly isReady: boolean
  readonly readyMs: number | undefined
  readonly unmet: readonly string[]
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

interface Followed {
  readonly hub: KubeClient
  /** Business clusters that run on this machine now. */
  readonly business: () => ReadonlyMap<string, KubeClient>
  readonly layout: Layout
  readonly files: DeclaredFiles
  readonly screen: Screen
  /** Ends once the fleet is ready or the deadline has passed. */
  readonly check: boolean
  readonly driver: Driver
  readonly began: number
  /** The same moment in wall-clock time, which leases use. */
  readonly beganAt: number
  readonly signal: AbortSignal
}

export async function followFleet(followed: Followed): Promise<UpResult> {
  const view = watchFleet(followed.hub)
  try {
    return await follow(view, followed)
  } finally {
    await view.stop()
  }
}

async function follow(view: FleetView, followed: Followed): Promise<UpResult> {
  const { hub, business, layout, files, screen, check, driver, began, beganAt, signal } = followed
  let readyMs: number | undefined
  let missing: readonly string[] = ['no status read yet']
  const reported = new Set<string>()
  const called = commitNames(layout.repository)
  const missingIn = async (seen: FleetSeen, commit: string) => [
    ...unmet(seen, commit, await called(commit)),
    ...silentMachines(seen, beganAt),
  ]
  while (!signal.aborted) {
    let seen = await view.seen(business())
    const commit = await newestCommit(layout)
    files.follow(commit)
    for (const line of rehearsalNotes(seen).filter((l) => !reported.has(l))) {
      reported.add(line)
      screen.print(`note: ${line}`)
    }
    missing = await missingIn(seen, commit)
    if (missing.length === 0 && readyMs === undefined) {
      // Each kind has its own watch, and one may lag. Report Ready only from what the servers return.
      seen = await observeFleet(hub, business())
      missing = await missingIn(seen, commit)
    }
    if (missing.length === 0 && readyMs === undefined) {
      readyMs = systemClock.monotonic() - began
      screen.show(summaryLines(seen, beganAt, screen.isTerminal))
      screen.print(`ready after ${seconds(readyMs)}`)
      if (!check) for (const line of thingsToTry(layout, [...business().keys()], driver)) screen.print(line)
    }
    const isStuck = missing.length > 0 && stuckWhy(seen, commit) !== undefined
    if (check && (missing.length === 0 || isStuck || systemClock.monotonic() - began > CHECK_WITHIN_MS[driver])) break
    screen.show(summaryLines(seen, beganAt, screen.isTerminal))
    await systemClock.sleep(POLL_MS, signal).catch(() => undefined)
  }
  return { isReady: readyMs !== undefined, readyMs, unmet: missing }
}

/** Per driver: the set to ask about, and a version change to commit. */
const TO_TRY: Readonly<Record<Driver, { readonly set: string; readonly file: string; readonly change: string }>> = {
  process: { set: 'base', file: 'versions.json', change: 'beacon 1.1.0' },
  nspawn: { set: 'hosts', file: 'host-versions.json', change: 'containerd 1.6.20+ds1-1-deb12u3' },
}

/** For a user's own fleet only its location is known. */
function tryOwn(layout: Layout, folder: string, names: readonly string[]): readonly string[] {
  return [
    '',
    `kubeconfig of all clusters: ${layout.adminKubeconfig} (--context ${names.join('|')}); kubenode finds it below ${folder}`,
    'three things to try in a second terminal:',
    `  npx kubenode get machines --context ${names[0] ?? HUB}`,
    '  npx kubenode local status --wait',
    `  commit a change in ${folder}, such as another version, and watch it roll out here`,
    'Ctrl-C stops all processes; the next start continues with the same fleet.',
    '',
  ]
}

function thingsToTry(layout: Layout, names: readonly string[], driver: Driver): readonly string[] {
  const { follows } = layout
  if (follows !== undefined) return tryOwn(layout, join(follows.repository, follows.path), names)
  const { set, file, change } = TO_TRY[driver]
  const first = shellWord(layout.cluster(names[0] ?? HUB).adminKubeconfig)
  const width = Math.max(...[HUB, ...names].map((name) => name.length))
  return [
    '',
    'kubeconfigs:',
    ...[HUB, ...names].map((name) => `  ${name.padEnd(width)} ${layout.cluster(name).adminKubeconfig}`),
    `  ${'all'.padEnd(width)} ${layout.adminKubeconfig} (--context ${[HUB, ...names].join('|')})`,
    'three things to try:',
    `  kubectl --kubeconfig ${first} get machines.kubenode.io,nodes`,
    `  bin/kubenode why machinecomponentset/${set} --kubeconfig ${first}`,
    `  edit ${join(layout.repository, 'fleet/clusters', file)}, then git -C ${shellWord(layout.repository)} commit -am '${change}', and watch`,
    'Ctrl-C stops all processes; the next start continues with the same fleet.',
    '',
  ]
}
