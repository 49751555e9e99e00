// Decides what a commit, or the settings of the hub, must change before anything is done for a Cluster. Pure.
import type { Reason } from '#api/catalogue.ts'
import { clusterMistake } from '#api/cluster-mistakes.ts'
import { unfitAddons } from '#api/constructs/addons/table.ts'
import { minorOf } from '#api/constructs/control-plane/settings.ts'
import { FINALIZERS } from '#api/names.ts'
import type { Wait } from '#runtime/waiting.ts'
import { declaredAddons } from './addons/named.ts'
import { missingRecipes, NO_RECIPES, unfitRecipes } from './addons/recipes.ts'
import { isStepwise } from './plan-steps.ts'
import type { ControlPlaneSpec, Seen } from './seen.ts'

/** An installation may drop a flavor while Clusters still use it. */
export function unservedFlavor({ cluster, host }: Pick<Seen, 'cluster' | 'host'>): Wait<Reason> | undefined {
  const flavor = cluster.spec.controlPlane?.flavor
  if (flavor === undefined || flavor === host.name) return undefined
  return {
    predicate: 'FlavorNotServed',
    seen: `flavor ${flavor}; this hub has a host of flavor ${host.name}`,
    unblock: `a commit declares a new Cluster of flavor ${host.name}; or the settings of an installed hub get ${SETTING_OF[flavor]}`,
  }
}

const SETTING_OF = {
  kubernetes: 'controlPlanes.kubernetes',
  embedded: 'controlPlanes.claim',
} as const satisfies Readonly<Record<ControlPlaneSpec['flavor'], string>>

/** The finalizer is set before anything is created. A Cluster whose control plane is kept may be deleted without its host. */
export const mayExist = ({ cluster: { metadata, spec } }: Pick<Seen, 'cluster'>): boolean =>
  (metadata.finalizers ?? []).includes(FINALIZERS.cluster) &&
  (metadata.deletionTimestamp === undefined || spec.deletionPolicy === 'Delete')

/** A recipe is immutable: an upgrade needs one that is for the minor before and the one after it. */
function recipeMistake(
  [running = '', wanted = '']: readonly string[],
  unfitFor: (minor: number) => readonly string[],
): Wait<Reason> | undefined {
  const side = [running, wanted].find((v) => unfitFor(minorOf(v) ?? 0).length > 0)
  if (side === undefined) return undefined
  const recipes = unfitFor(minorOf(side) ?? 0).join(', ')
  if (running === wanted)
    return {
      predicate: 'InvalidSpec',
      seen: `${recipes}; the cluster is for ${releaseOf(side)}`,
      unblock: `a commit names a recipe for ${releaseOf(side)}, or another version of the cluster`,
    }
  const both = [running, wanted].toSorted((a, b) => (minorOf(a) ?? 0) - (minorOf(b) ?? 0)).map(releaseOf)
  return {
    predicate: 'UpgradeRefused',
    seen: `${recipes}; the cluster ${side === running ? 'still runs' : 'is to run'} ${releaseOf(side)}`,
    unblock: `a commit names a recipe for ${[...new Set(both)].join('-')} first, or takes the addon out until the upgrade is done`,
  }
}

/** Mistakes that no host can fix. */
export function mistake(seen: Seen, version: string): Wait<Reason> | undefined {
  const { plane, host } = seen
  const unserved = unservedFlavor(seen)
  if (unserved !== undefined) return unserved
  const wrong = clusterMistake(seen.cluster.spec)
  if (wrong !== undefined) return { predicate: 'InvalidSpec', seen: wrong, unblock: 'a commit changes the Cluster' }
  if (!host.capabilities.minors.includes(releaseOf(version)))
    return {
      predicate: 'VersionNotServed',
      seen: `version ${version}; the host serves ${host.capabilities.minors.join(', ')}`,
      unblock: `a commit names a version of ${oneOf(host.capabilities.minors)}`,
    }
  const addons = declaredAddons(seen.cluster)
  const recipes = seen.recipes ?? NO_RECIPES
  const [missing] = missingRecipes(seen.cluster, addons, recipes)
  if (missing !== undefined)
    return {
      predicate: 'InvalidSpec',
      seen: missing,
      unblock:
        'an administrator of the hub applies what kubenode cluster recipe prints, or a commit names another recipe',
    }
  // An upgrade must fit the addons on both sides.
  const sides = [plane?.version ?? version, version]
  const unfitRecipe = recipeMistake(sides, (minor) => unfitRecipes(addons, recipes, minor))
  if (unfitRecipe !== undefined) return unfitRecipe
  const unfitFor = (v: string): readonly string[] => unfitAddons(addons, minorOf(v) ?? 0)
  const untested = sides.find((v) => unfitFor(v).length > 0)
  if (untested !== undefined)
    return {
      predicate: plane === undefined || plane.version === version ? 'InvalidSpec' : 'UpgradeRefused',
      seen: `addons are not tested with ${releaseOf(untested)}: ${unfitFor(untested).join(', ')}`,
      unblock: 'a commit names versions of them that are, or another version of the cluster',
    }
  // A stepwise host reports this itself, with all other objections.
  const skipped =
    plane === undefined || isStepwise(seen) ? 0 : Math.abs((minorOf(version) ?? 0) - (minorOf(plane.version) ?? 0)) - 1
  if (skipped > 0)
    return {
      predicate: 'SkewRefused',
      seen: `from ${plane?.version ?? ''} to ${version} skips ${skipped} minor${skipped === 1 ? '' : 's'}`,
      unblock: 'a commit names the next minor, and a later one the one after it',
    }
  return undefined
}

/** `1.34, 1.35 or 1.36`. */
const oneOf = (minors: readonly string[]): string =>
  minors.length < 2 ? minors.join('') : `${minors.slice(0, -1).join(', ')} or ${minors.at(-1) ?? ''}`

const releaseOf = (version: string): string => version.split('.').slice(0, 2).join('.')
