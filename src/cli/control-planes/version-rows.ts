// The version file of a hub, read again when it changes: a mounted ConfigMap is replaced in place.
import { statSync } from 'node:fs'
import { parseVersionFile, type ServedVersion } from '#controlplanes/kubernetes/version-file.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { runErrors } from '../run/run-errors.ts'
import { someOf } from '#lib/some-of.ts'

const MOST_SHOWN = 5

/** Throws when it is wrong at the start. A later mistake keeps the rows that were right. */
export function versionRows(file: string, onMistake: (problem: string) => void): () => readonly ServedVersion[] {
  let stamp = stampOf(file)
  let rows = readRows(file)
  return () => {
    try {
      const now = stampOf(file)
      if (now === stamp) return rows
      stamp = now
      rows = readRows(file)
    } catch (error) {
      onMistake(messageOf(error))
    }
    return rows
  }
}

const stampOf = (file: string): string => {
  try {
    const { mtimeMs, size, ino } = statSync(file)
    return `${ino}/${mtimeMs}/${size}`
  } catch (error) {
    throw new KubeNodeError(runErrors.KN1462({ file, problems: messageOf(error) }))
  }
}

function readRows(file: string): readonly ServedVersion[] {
  const read = parseVersionFile(readBoundedText(file))
  if ('rows' in read) return read.rows
  const problems = someOf(read.problems, MOST_SHOWN, '; ')
  throw new KubeNodeError(runErrors.KN1462({ file, problems }))
}
