// Lifts a hold before its end, after one question. Drawn only for those who may delete holds.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { LiftRequest, Written } from '../../protocol.ts'
import { useApp } from '../app.ts'
import { post } from '../live/store.ts'

interface Props {
  readonly cluster: string
  readonly name: string
  readonly reason: string
}

export function LiftButton({ cluster, name, reason }: Props): VNode | null {
  const { session, route, speak } = useApp()
  const dialog = useRef<HTMLDialogElement>(null)
  const [isOpen, setOpen] = useState(false)
  const [error, setError] = useState('')
  useEffect(() => {
    if (isOpen && dialog.current?.open === false) dialog.current.showModal()
  }, [isOpen])
  const access = session.clusters.find((c) => c.name === cluster)
  if (access?.canLift !== true || route.params['at'] !== undefined) return null
  const open = (): void => {
    setError('')
    setOpen(true)
  }
  const close = (): void => dialog.current?.close()
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const answer = await post<Written>('/api/lift', { cluster, name } satisfies LiftRequest)
    if (answer.state === 'Ready') {
      speak(`hold ${name} lifted`)
      close()
    } else if (answer.state !== 'Loading') setError(`Not lifted: ${answer.message}`)
  }
  return h(
    'span',
    {},
    h('button', { type: 'button', 'aria-label': `Lift ${name}`, onClick: open }, 'Lift…'),
    isOpen &&
      h(
        'dialog',
        { ref: dialog, 'aria-label': `Lift ${name}`, onClose: () => setOpen(false) },
        h(
          'form',
          { onSubmit: (e: SubmitEvent) => void send(e) },
          h('h2', {}, `Lift ${name}?`),
          h('p', {}, `What it holds in ${cluster} continues. It was placed because: ${reason}`),
          h('div', { role: 'alert' }, error !== '' && h('p', { class: 'error' }, error)),
          h(
            'div',
            { class: 'tools' },
            h('button', { type: 'button', onClick: close }, 'Cancel'),
            h('button', { type: 'submit', class: 'main' }, 'Lift'),
          ),
        ),
      ),
  )
}
