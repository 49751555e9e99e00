// Two commits within the time of one render: the poll of the repository sees the second while the first is rendered.
import { afterEach, expect, test } from 'vitest'
import { openRenderer } from '#test/doubles/open-renderer.ts'
import { filesOf, SourceWorld } from '#test/support/worlds/source-world.ts'

let w: SourceWorld
afterEach(() => w.remove())

const valuesOf = (v: string) => ({ pipelines: { standard: {} }, cluster: { a: { v } } })

test('a commit whose render a newer one ended is not refused: the newer one is followed in the same pass', async () => {
  const open = openRenderer()
  const begun = Promise.withResolvers<void>()
  w = new SourceWorld(
    {},
    {
      ...open,
      run: async (request, limits) => {
        if (request.files['fleet/values.json']?.includes('slow') === true) {
          begun.resolve()
          await new Promise((resolve) => limits?.signal?.addEventListener('abort', resolve))
        }
        return open.run(request, limits)
      },
    },
  )
  await w.follow(valuesOf('1'))
  w.repository.commit(filesOf(valuesOf('slow')), { key: 'ada', message: 'slow' })
  const pass = w.observed()
  await begun.promise
  const newest = w.repository.commit(filesOf(valuesOf('3')), { key: 'ada', message: 'newest' })
  expect(await w.polled()).toBe(newest)

  const { commit, declared } = await pass
  expect(declared).toMatchObject({ kind: 'Declared', commit: { id: newest } })
  expect(commit?.id).toBe(newest)
})
