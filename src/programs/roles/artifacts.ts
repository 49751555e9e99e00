// The artifacts role: hosts fetch components and the agent itself here.
import { registryFor } from '#artifacts/oci/registry-for.ts'
import { pulledArtifacts } from '#artifacts/pull.ts'
import { ArtifactsPart } from '#artifacts/role.ts'
import type { RoleSetup } from '../run/role.ts'
import type { ServedArtifacts } from '../run/artifacts-options.ts'
import type { RolesConfig } from './config.ts'

/** Pulls from the registry into a cache folder, with the login in a mounted file. */
function pulled(
  { reference, digest }: NonNullable<ServedArtifacts['oci']>,
  cache: string,
  env: RolesConfig['gitEnv'],
): Promise<string> {
  return pulledArtifacts(registryFor(reference, { env }).store, digest, cache)
}

export const artifactsRole = ({ artifacts, gitEnv }: RolesConfig): RoleSetup => ({
  async setup({ client, clock, log }) {
    if (artifacts === undefined) throw new Error('role artifacts has no options')
    const { oci, folder: given, ...rest } = artifacts
    const folder = oci === undefined ? given : await pulled(oci, given, gitEnv)
    return [new ArtifactsPart({ ...rest, folder, client, clock, log })]
  },
})
