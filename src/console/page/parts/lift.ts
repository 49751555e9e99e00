// Lifts a hold before its end, after one question. Drawn only for those who may delete holds.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { LiftRequest, Written } from '../../protocol.ts'
import { useApp } from '../app.ts'
import { post } from '../live/store.ts'
import { useDialog } from './dialog.ts'

interface Props {
  readonly cluster: string
  readonly name: string
  readonly reason: string
}

export function LiftButton({ cluster, name, reason }: Props): VNode | null {
  const { session, route, speak } = useApp()
  const { ref, isOpen, open: show, close, onClose } = useDialog()
  const [error, setError] = useState('')
  const access = session.clusters.find((c) => c.name === cluster)
  if (access?.canLift !== true || route.params['at'] !== undefined) return null
  const open = (): void => {
    setError('')
    show()
  }
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
        { ref, 'aria-label': `Lift ${name}`, onClose },
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
