// Whether a machine can run a version at all, from what its agent reports: processor, kernel, distribution, boot arguments. Sets, canaries and agents
// ask the same question, so that a machine that cannot run a version is left out of a rollout instead of failing it. Pure.
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { parseRange, parseVersion } from '#lib/semver.ts'

export type Platform = NonNullable<NonNullable<Machine['status']>['platform']>
type Needs = NonNullable<MachineComponentSpec['needs']>

/** Returns the reason why a machine cannot run the version. */
type Check = (platform: Platform) => string | undefined

/** For many machines: what the version needs is read once. What a machine has not reported is unknown, which never allows a switch. */
export function platformCheck(spec: MachineComponentSpec): Check {
  const { kernel, distributions, bootArguments } = spec.needs ?? {}
  const checks = [
    processorCheck(spec),
    kernel === undefined ? undefined : kernelCheck(kernel),
    distributions === undefined ? undefined : distributionCheck(distributions),
    bootArguments === undefined ? undefined : (platform: Platform) => bootRefusal(bootArguments, platform),
  ].filter((check) => check !== undefined)
  return (platform) => {
    for (const check of checks) {
      const why = check(platform)
      if (why !== undefined) return why
    }
    return undefined
  }
}

export const platformRefusal = (spec: MachineComponentSpec, platform: Platform = {}): string | undefined =>
  platformCheck(spec)(platform)

/** An agent that has not reported its processor refuses by itself. */
function processorCheck({ artifacts = [] }: MachineComponentSpec): Check | undefined {
  const archs = new Set<string>(artifacts.map((a) => a.arch))
  if (archs.size === 0 || archs.has('any')) return undefined
  return ({ arch }) =>
    arch === undefined || archs.has(arch) ? undefined : `has no artifact for ${arch} (it has ${[...archs].join(', ')})`
}

function kernelCheck(range: string): Check {
  const accepts = parseRange(range)
  return ({ kernel }) => {
    const version = kernel === undefined ? undefined : parseVersion(kernel, { suffix: 'vendor' })
    const fits = version !== undefined && accepts !== undefined && accepts(version)
    return fits ? undefined : `requires Linux ${range}, the node ${has(kernel)}`
  }
}

function distributionCheck(wanted: NonNullable<Needs['distributions']>): Check {
  const accepted = wanted.map(({ id, range }) => ({
    id,
    accepts: range === undefined ? undefined : parseRange(range),
    range,
  }))
  const text = wanted.map(({ id, range }) => (range === undefined ? id : `${id} ${range}`)).join(' or ')
  return ({ distribution }) => {
    const isAccepted =
      distribution !== undefined &&
      accepted.some(({ id, range, accepts }) => {
        // A version of Ubuntu says nothing about one of Debian.
        if (range === undefined) return distribution.id === id || distribution.like?.includes(id) === true
        const version = distribution.version === undefined ? undefined : parseVersion(distribution.version)
        return distribution.id === id && version !== undefined && accepts?.(version) === true
      })
    if (isAccepted) return undefined
    const own = distribution && [distribution.id, distribution.version].filter((word) => word !== undefined).join(' ')
    return `requires ${text}, the node ${has(own)}`
  }
}

function bootRefusal(wanted: readonly string[], { bootArguments }: Platform): string | undefined {
  if (bootArguments === undefined) return `requires boot argument ${wanted[0] ?? ''}, the node ${has(undefined)}`
  const missing = wanted.find(
    (want) => !bootArguments.some((a) => a === want || (!want.includes('=') && a.startsWith(`${want}=`))),
  )
  return missing === undefined ? undefined : `requires boot argument ${missing}, the node booted without it`
}

const has = (value: string | undefined): string => (value === undefined ? 'has not reported it' : `has ${value}`)
