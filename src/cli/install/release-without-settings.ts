// What `kubenode check` measures a cluster against where no settings are chosen yet: the definitions, rights and policies of the release.
import { join } from 'node:path'
import { releaseRoot } from '#lib/release-root.ts'
import { VERSION } from '../version.ts'
import { definitionsIn, labelled, labelValue, type Release } from './release.ts'

/** Settings are chosen after the first check: without them, the workloads alone are not known. */
export function releaseWithoutSettings(): Release {
  const read = (folder: string) => definitionsIn(join(releaseRoot(), folder)).map((o) => labelled(o, VERSION))
  return {
    version: labelValue(VERSION),
    definitions: read('deploy/crds'),
    objects: [...read('deploy/install'), ...read('deploy/hub')],
  }
}
