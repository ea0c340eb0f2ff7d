// Shows the OpenAPI document with Scalar: without its calls to other hosts, and without sending requests from the page.
Scalar.createApiReference('#app', {
  url: '/openapi.json',
  documentDownloadType: 'direct',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  hideTestRequestButton: true,
  persistAuth: false,
  showDeveloperTools: 'never',
  orderSchemaPropertiesBy: 'preserve',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
})
