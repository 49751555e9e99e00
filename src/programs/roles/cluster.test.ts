// Mistakes in the version file are reported when the program starts, not when it leads.
import { expect, test } from 'vitest'
import { clusterRole } from './cluster.ts'
import type { RolesConfig } from './config.ts'

test('a version file that is missing stops the program before it waits to lead', () => {
  const config = { controlPlaneVersions: '/nowhere/versions.json' } as RolesConfig
  expect(() => clusterRole(config)).toThrow(
    /^KN1462: cannot use the version file \/nowhere\/versions\.json: there is no such file;/,
  )
})
