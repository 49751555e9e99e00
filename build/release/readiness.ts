// Decides whether a build is fit to be released, and what to do first otherwise. Pure.

export interface Readiness {
  readonly version: string
  readonly hasKey: boolean
  /** Files that differ from the commit, as git lists them. */
  readonly changes: readonly string[]
  /** Of the commit. */
  readonly tags: readonly string[]
  /** Of the version in the changelog. */
  readonly date: string | undefined
  /** Parts that were left out. */
  readonly omitted: readonly string[]
}

const MOST_SHOWN = 5

/** Each with what to do next; none for a release. */
export function whyNotReleased(state: Readiness): readonly string[] {
  const { version, hasKey, changes, tags, date, omitted } = state
  const tag = `v${version}`
  const shown = changes.slice(0, MOST_SHOWN).join(', ')
  const more = changes.length > MOST_SHOWN ? ` and ${changes.length - MOST_SHOWN} more` : ''
  return [
    ...(hasKey
      ? []
      : ['no key signs it: name one with --key FILE; bin/kubenode artifact keys new -f release.pem makes one']),
    ...(changes.length === 0 ? [] : [`files are in no commit: commit or remove ${shown}${more}`]),
    ...(tags.includes(tag)
      ? []
      : [`the commit has no tag ${tag}: git tag -s ${tag}, or check out the commit that has it`]),
    ...(date === undefined ? [`CHANGELOG.md has no date for ${version}: write "## ${version} (YYYY-MM-DD)"`] : []),
    ...(omitted.length === 0 ? [] : [`it lacks ${omitted.join(', ')}: leave out --only`]),
  ]
}

/** What a person types to publish a release; nothing here does. */
export const publishing = (version: string, folder: string): readonly string[] => [
  `npm publish ${folder}/kubenode-${version}.tgz`,
  `bin/kubenode image push ${folder}/kubenode-image.tar REGISTRY/kubenode:${version}`,
  'bin/kubenode image sign REGISTRY/kubenode@DIGEST --key IMAGE-KEY',
  `git push origin v${version}, and upload all files of ${folder} with release-notes.md as the text`,
]
