import { mount } from 'svelte'
import App from './App.svelte'
import './tokens.css'
import './base.css'
import './state/row-click.ts'

mount(App, { target: document.getElementById('app') ?? document.body })
