// A story of dependent chapters: after a failed one the others fail at once with its name, instead of each waiting in vain for minutes.
import { afterEach, beforeEach } from 'vitest'

export function chapters(): void {
  let failed: string | undefined
  beforeEach(({ skip }) => {
    if (failed !== undefined) skip(`“${failed}” failed, and this goes on from there`)
  })
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') failed ??= task.name
  })
}
