// Who built which files out of what: a statement of in-toto with the predicate of SLSA 1.0. Pure.
import type { Component } from './components.ts'

export interface ReleasedFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

export interface ProvenanceOptions {
  readonly version: string
  readonly revision: string
  /** URI of who runs the build. */
  readonly builder: string
  readonly parts: readonly string[]
  readonly node: string
  /** What is described: the files of the release. */
  readonly files: readonly ReleasedFile[]
  /** The lock files, which name everything else that a build fetches. */
  readonly locks: readonly ReleasedFile[]
  readonly components: readonly Component[]
}

export function provenanceOf(options: ProvenanceOptions): object {
  const { version, revision, builder, parts, node, files, locks, components } = options
  const named = ({ name, sha256 }: ReleasedFile) => ({ name, digest: { sha256 } })
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: files.map(named),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://kubenode.io/release/v1',
        externalParameters: { version, revision, command: 'npm run release', parts },
        internalParameters: { node },
        resolvedDependencies: [
          { name: 'kubenode', digest: { gitCommit: revision } },
          ...locks.map(named),
          ...components.map(({ purl, digest }) => ({ uri: purl, digest: { [digest.algorithm]: digest.hex } })),
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  }
}
