// A story whose chapters go on from each other: after one that failed the others say so, instead of waiting in vain for minutes each.
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
