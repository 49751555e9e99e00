// Judges the Clusters with a control plane on this hub: whether the release runs their programs and their flavors, and which are not ready. Pure.
import { unreadyText } from '#explain/cluster-phase.ts'
import { counted } from '#lib/counted.ts'
import { installErrors } from '../install-errors.ts'
import { failed, passed, warned } from './finding.ts'
import { flavorGaps, type Hosted, servedPlanes, SETTINGS } from './flavors.ts'
import { type Judge, named, read } from './judging.ts'

export const clusterPrograms: Judge = (seen, { release }) => {
  const served = servedPlanes(release)
  if (served === undefined) return []
  return read('cluster-programs', seen.hosted, (hosted) => {
    const wanted = hosted.filter(({ wantsPrograms }) => wantsPrograms)
    if (wanted.length === 0) return []
    if (served.hostsPrograms) return passed('cluster-programs', `for ${counted(wanted.length, 'Cluster')}`)
    const names = named(wanted.map(({ name }) => name))
    return warned(
      'cluster-programs',
      `no controllers, approver and Defender run for Clusters of this hub, setting clusterPrograms: ${names}`,
    )
  })
}

/** A hub whose release says nothing of its programs has its Clusters only. What another check says of a setting is not repeated. */
export const unready: Judge = (seen, { release }) =>
  read('clusters', seen.hosted, (hosted) => {
    const served = servedPlanes(release)
    const found = hosted.flatMap(({ name, flavor, unready: why }) => {
      if (why === undefined) return []
      if (why.reason === 'ProgramsNotServed' && served?.hostsPrograms === false) return []
      if (why.reason === 'FlavorNotServed' && served?.flavors.includes(flavor) === false) return []
      return [{ name, why }]
    })
    return [...Map.groupBy(found, ({ why }) => unreadyText(why, '')).values()].flatMap((all) =>
      all.slice(0, 1).map(({ why }) => warned('clusters', unreadyText(why, named(all.map(({ name }) => name))))),
    )
  })

export const flavors: Judge = (seen, { release }) => {
  const served = servedPlanes(release)
  if (served === undefined) return []
  return read('flavors', seen.hosted, (hosted) => {
    const { dropped, unlisted, waiting } = flavorGaps(served, hosted)
    const shown = (all: readonly Hosted[]): string => named(all.map((c) => `${c.name} (${c.version})`))
    const found = [
      ...[...Map.groupBy(dropped, ({ flavor }) => flavor)].map(([flavor, all]) => {
        const count = counted(all.length, 'Cluster')
        const error = installErrors.KN1453({ count, flavor, names: shown(all), setting: SETTINGS[flavor] })
        return failed('flavors', error)
      }),
      ...(unlisted.length === 0 ? [] : [failed('flavors', installErrors.KN1454({ names: shown(unlisted) }))]),
      ...[...Map.groupBy(waiting, ({ flavor }) => flavor)].map(([flavor, all]) =>
        warned('flavors', `Clusters wait for flavor ${flavor}, setting ${SETTINGS[flavor]}: ${shown(all)}`),
      ),
    ]
    if (found.length > 0) return found
    if (served.flavors.length === 0) return passed('flavors', 'no control planes of Clusters run here')
    const versions = served.versions.length === 0 ? '' : `; Kubernetes ${named(served.versions)}`
    return passed('flavors', `${served.flavors.join(', ')}${versions}; ${counted(hosted.length, 'Cluster')}`)
  })
}
