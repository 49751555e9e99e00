// Reads what a Release's status lacks: the hold that stops it, what its source follows since, and whether its repository is read in place.
import { type Release, release as releaseType } from '#api/kinds/release.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { rewritten, type Story } from '../finding.ts'
import type { Reader } from '../partial-reader.ts'
import { holdEndsOver, isReadInPlace, unreleasedAfter } from '../read-why.ts'
import { withoutPush } from '../unblock.ts'
import { releaseStory } from './status.ts'

interface Around {
  readonly all: readonly Release[]
  readonly holds: readonly OperationalHold[]
  readonly now: number
}

export async function readReleaseStatus(client: Reader, release: Release, { all, holds, now }: Around): Promise<Story> {
  const holdEnds = holdEndsOver({ ...release, kind: releaseType.kind }, holds, now)
  const [more, isInPlace] = await Promise.all([unreleasedAfter(client, release, now), isReadInPlace(client, release)])
  const story = releaseStory(release, { now, all, more, holdEnds })
  return isInPlace ? rewritten(story, withoutPush) : story
}
