// A version that does not start must not get further than the first machine.
import type { Scenario } from 'kubenode/scenario'
import versions from '../clusters/versions.json' with { type: 'json' }

const components = Object.keys(versions)

export const scenario: Scenario = {
  description: 'no component of versions.json starts',
  badVersions: components.map((component) => ({ component })),
  until: '30m',
  // Each of them on one machine.
  expect: [`failed.switches == ${components.length}`, 'blocked == 1', 'own.machines <= 1'],
}
