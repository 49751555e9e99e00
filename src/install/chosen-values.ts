// The settings of one run: the user's, then the cluster's, plus what this machine knows; and the release they produce.
import { shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import type { InstallContext } from './context.ts'
import { withHostServer } from './host-server.ts'
import { type SettingFlags, type Values, mergedValues, releaseOf, storedValues, valuesFile } from './load.ts'
import { withProviderKeys } from './provider-keys.ts'
import { type Release, labelled, labelValue } from './release.ts'
import { releaseManifests } from '#delivery/release-manifests.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { VERSION } from '#lib/program-version.ts'

/** Undefined if no setting was chosen. */
export async function chosenValues(
  options: SettingFlags,
  io: Io,
  context?: InstallContext,
): Promise<Values | undefined> {
  const own = options.values === undefined ? undefined : valuesFile(options.values, io.cwd)
  const stored = context === undefined ? {} : await storedValues(context.client)
  const chosenHere = mergedValues(own ?? stored, options)
  if (Object.keys(chosenHere).length === 0) return undefined
  const merged = { ...options.defaults, ...chosenHere }
  const { values, chosen, unusable } = withHostServer(merged, stored, context?.server)
  if (chosen !== undefined)
    io.err(
      shownLine(
        `hosts reach the API server at ${chosen}, as this kubeconfig does; apiServer.url in --values names another`,
      ),
    )
  const { cluster: before } = stored
  const { cluster: now } = values
  if (typeof before === 'string' && typeof now === 'string' && now !== before)
    io.err(shownLine(`this cluster is installed as ${before}; these settings call it ${now}`))
  if (unusable !== undefined)
    io.err(
      shownLine(`this kubeconfig names ${unusable}, where hosts do not reach the API server; apiServer.url is needed`),
    )
  // Without a cluster there is no place to keep keys for the next run.
  return context === undefined ? values : withProviderKeys(values, stored, context.clock.now())
}

/** Settings are chosen after the first check; without them, only the workloads are unknown. */
export function releaseWithoutSettings(): Release {
  const { kinds, rest, hub } = releaseManifests()
  const marked = (objects: readonly KubeObject[]) => objects.map((o) => labelled(o, VERSION))
  return {
    version: labelValue(VERSION),
    definitions: marked(kinds),
    objects: marked([...rest, ...hub]),
  }
}

/** Without settings, a check covers what every installation needs. */
export async function checkedRelease(options: SettingFlags, io: Io, context: InstallContext): Promise<Release> {
  const values = await chosenValues(options, io, context)
  return values === undefined ? releaseWithoutSettings() : releaseOf(values)
}
