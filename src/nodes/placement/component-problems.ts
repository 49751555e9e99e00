// Problems of a list of components on any machine: unknown components, scripts, circles, versions too far from the API server's. Pure.
import type { MachineComponent, MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { requirementCircle } from '#api/requires.ts'
import { componentObjectName } from '#lib/names.ts'
import { parseVersion } from '#lib/semver.ts'
import type { Problem } from './problem.ts'

export type SpecsNamed =
  | { readonly kind: 'Specs'; readonly specs: readonly MachineComponentSpec[] }
  | { readonly kind: 'Problem'; readonly problem: Problem }

export function specsNamed(
  wanted: readonly { readonly name: string; readonly version: string }[],
  components: { readonly get: (name: string) => MachineComponent | undefined },
): SpecsNamed {
  const specs: MachineComponentSpec[] = []
  const problem = (reason: Problem['reason'], message: string): SpecsNamed => ({
    kind: 'Problem',
    problem: { reason, message },
  })
  for (const { name, version } of wanted) {
    const component = components.get(componentObjectName(name, version))
    if (component === undefined)
      return problem(
        'ComponentMissing',
        `MachineComponent ${name} ${version} not found; commit it or correct the version`,
      )
    if (component.spec.type === 'Script')
      return problem('InvalidSpec', `${name} ${version} is of type Script, which only repairs run; take it out`)
    specs.push(component.spec)
  }
  return { kind: 'Specs', specs }
}

export function circleProblem(specs: readonly MachineComponentSpec[]): Problem | undefined {
  const names = requirementCircle(specs)
  return (
    names && {
      reason: 'RequirementUnmet',
      message: `the components require each other in a cycle: ${names.join(' → ')}; declare a version of one that requires none of the others`,
    }
  )
}

/** Minor versions are comparable only within one major version. */
export function skewProblem(
  specs: readonly MachineComponentSpec[],
  apiServer: string | undefined,
): Problem | undefined {
  for (const { component, version, skew } of specs) {
    if (skew === undefined) continue
    const server = apiServer === undefined ? undefined : parseVersion(apiServer, { suffix: 'vendor' })
    if (server === undefined)
      return {
        reason: 'SafetyReadingUnknown',
        message: `the version skew of ${component} ${version} to the API server is unknown: the server does not report its version`,
        unblock: 'the API server responds to /version',
      }
    const own = parseVersion(version, { suffix: 'vendor' })
    const ahead = own && own.numbers[1] - server.numbers[1]
    if (own?.numbers[0] === server.numbers[0] && ahead !== undefined) {
      if (ahead <= skew.maxAheadOfApiServer && -ahead <= skew.maxBehindApiServer) continue
    }
    return {
      reason: 'SkewRefused',
      message: `${component} ${version} may be ${skew.maxAheadOfApiServer} minors newer and ${skew.maxBehindApiServer} older than the API server, which is ${apiServer}; declare a version in that range, or upgrade the control plane first`,
    }
  }
  return undefined
}
