// What `kubenode check` measures a cluster against: the release with the given settings, or without any, its definitions, rights and policies.
import { join } from 'node:path'
import { isKubeNodeError } from '#lib/errors.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { VERSION } from '../version.ts'
import { installErrors } from './install-errors.ts'
import { definitionsIn, labelled, labelValue, type Release } from './release.ts'

/** Settings are chosen after the first check: without them, the workloads alone are not known. */
export async function checkedRelease(load: () => Promise<Release>): Promise<Release> {
  try {
    return await load()
  } catch (error) {
    if (!isKubeNodeError(error) || error.code !== installErrors.KN1421.code) throw error
    const read = (folder: string) => definitionsIn(join(releaseRoot(), folder)).map((o) => labelled(o, VERSION))
    return {
      version: labelValue(VERSION),
      definitions: read('deploy/crds'),
      objects: [...read('deploy/install'), ...read('deploy/hub')],
    }
  }
}
