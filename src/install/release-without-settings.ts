// The baseline of `kubenode check` before settings are chosen: the release's definitions, rights and policies.
import { releaseManifests } from '#delivery/release-manifests.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { VERSION } from '#lib/program-version.ts'
import { labelled, labelValue, type Release } from './release.ts'

/** Settings are chosen after the first check; without them, only the workloads are unknown. */
export function releaseWithoutSettings(): Release {
  const { kinds, rest, hub } = releaseManifests()
  const marked = (objects: readonly KubeObject[]) => objects.map((o) => labelled(o, VERSION))
  return {
    version: labelValue(VERSION),
    definitions: marked(kinds),
    objects: marked([...rest, ...hub]),
  }
}
