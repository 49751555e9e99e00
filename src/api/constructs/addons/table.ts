// The addons that a Cluster may name, and their problems. Pure.
import type { KubeObject } from '../../schema/object.ts'
import type { AddonChart, AddonNetwork, AddonValues } from './addon.ts'
import { coredns } from './coredns.ts'
import { dashboard } from './dashboard.ts'
import { isRecipeVersion } from './recipe.ts'

export interface DeclaredAddon {
  readonly name: string
  readonly version: string
  readonly values?: AddonValues
  /** Digest of its recipe on the hub. */
  readonly recipe?: string
}

export const ADDONS: Readonly<Record<string, AddonChart>> = { coredns, dashboard }

const VERSION = /^v?(\d{1,6}\.\d{1,6})(\.\d{1,6})?$/

const chartOf = (name: string): AddonChart | undefined => (Object.hasOwn(ADDONS, name) ? ADDONS[name] : undefined)

function testedWith({ name, version }: DeclaredAddon): readonly [number, number] | undefined {
  const versions = chartOf(name)?.versions ?? {}
  const line = VERSION.exec(version)?.[1]
  return line !== undefined && Object.hasOwn(versions, line) ? versions[line] : undefined
}

/** What a commit has to change, independent of the cluster's version. */
export function addonProblem(addon: DeclaredAddon): string | undefined {
  const { name, version, values = {}, recipe } = addon
  const chart = chartOf(name)
  if (recipe !== undefined) return recipeProblem(addon, chart !== undefined)
  if (chart === undefined)
    return `addon ${name} is unknown; known are ${Object.keys(ADDONS).join(', ')}, and those with a recipe on the hub, which the Cluster names by its digest`
  if (testedWith(addon) === undefined)
    return `addon ${name} ${version} is not tested; tested are ${Object.keys(chart.versions).join(', ')}`
  const [first] = chart.problems(values)
  return first === undefined ? undefined : `addon ${name}: ${first}`
}

function recipeProblem({ name, version, values }: DeclaredAddon, isBuiltIn: boolean): string | undefined {
  if (isBuiltIn) return `addon ${name} is KubeNode's own and has no recipe`
  if (values !== undefined) return `addon ${name}: an addon with a recipe takes no values`
  return isRecipeVersion(version)
    ? undefined
    : `addon ${name}: version ${version} of a recipe must be of small letters, digits, dots and dashes`
}

/** `1.34 to 1.36`, or `1.36 only`. */
export const minorsText = ([first, last]: readonly [number, number]): string =>
  first === last ? `1.${first} only` : `1.${first} to 1.${last}`

/** Addons not tested with a Kubernetes minor, each with its tested minors. */
export const unfitAddons = (addons: readonly DeclaredAddon[], minor: number): readonly string[] =>
  addons.flatMap((addon) => {
    const range = testedWith(addon)
    if (range === undefined || (minor >= range[0] && minor <= range[1])) return []
    return [`${addon.name} ${addon.version} (${minorsText(range)})`]
  })

/** For an addon without problems. */
export const addonObjects = (
  { name, version, values = {} }: DeclaredAddon,
  network: AddonNetwork,
): readonly KubeObject[] => chartOf(name)?.render(version, values, network) ?? []
