// Pure: the join line as cloud-init user data. The line is in a file that only root can read, so that its token never shows up in a process list.

const FILE = '/run/kubenode-join'

export const cloudInit = (line: string): string => `#cloud-config
write_files:
  - path: ${FILE}
    permissions: "0600"
    encoding: b64
    content: ${Buffer.from(`${line.trim()}\n`).toString('base64')}
runcmd:
  - [sh, ${FILE}]
  - [rm, -f, ${FILE}]
`
